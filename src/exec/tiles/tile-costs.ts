/** Costs by which tiles are chosen, in bytes that come over the bus in the time. */

/** How often a device's memory is faster than the bus to it, about. */
export const MEMORY_SPEED = 32;
/** Bytes that come over the bus while a tile is begun. */
export const BYTES_OF_A_TILE = 2 ** 18;
/** The most tiles of a sweep that goes through something several times. */
export const MOST_TILES = 2 ** 16;
