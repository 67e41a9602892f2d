/** Colours for numbers: maps as a few colours with straight lines between them. Called by `png.ts`. */

/** Red, green and blue from 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number];

/** `heat` goes from dark to bright, `diverging` from blue by white to red, `gray` from black to white. */
export type ColorMap = keyof typeof COLOR_MAPS;

export const COLOR_MAPS = {
  gray: [
    [0, 0, 0],
    [255, 255, 255],
  ],
  heat: [
    [8, 6, 30],
    [62, 18, 110],
    [140, 30, 110],
    [214, 64, 68],
    [250, 140, 32],
    [252, 220, 90],
    [255, 255, 225],
  ],
  diverging: [
    [20, 48, 110],
    [58, 118, 184],
    [160, 200, 224],
    [246, 246, 246],
    [244, 176, 140],
    [204, 70, 66],
    [112, 10, 36],
  ],
} as const satisfies Readonly<Record<string, readonly Color[]>>;

const ENTRIES = 256;

/** The 256 colours of a PNG file's palette, three bytes each. */
export function paletteOf(colors: readonly Color[]): Uint8Array {
  const palette = new Uint8Array(3 * ENTRIES);
  for (let entry = 0; entry < ENTRIES; entry++) {
    const place = (entry / (ENTRIES - 1)) * (colors.length - 1);
    const k = Math.min(Math.floor(place), colors.length - 2);
    const [from, to] = [colors[k]!, colors[k + 1]!];
    const between = (channel: 0 | 1 | 2): number =>
      Math.round(from[channel] + (to[channel] - from[channel]) * (place - k));
    palette.set([between(0), between(1), between(2)], 3 * entry);
  }
  return palette;
}
