package com.carrotsearch.randomizedtesting;

import java.util.Random;

/**
 * Where the server takes its random numbers from if a class of this name is there (its class Randomness): seeded, so that
 * copies of a shard are shuffled in the same way in every run.
 */
public final class RandomizedContext {
    private static final RandomizedContext ONE = new RandomizedContext();

    private final Random random = new Random(1);

    private RandomizedContext() {}

    public static RandomizedContext current() {
        return ONE;
    }

    public Random getRandom() {
        return random;
    }
}
