/** Numbers that several schedules share. */

/** Threads that run in step. */
export const WARP = 32;
/** Elements that one accumulator takes up one after the other, which bounds the error of a sum. */
export const LONGEST_CHAIN = 1024;
