/** The names of `activities.ts`, for who must not load Weft to know them. */
export const ACTIVITY_NAMES = ['compute', 'compile', 'iterate', 'persist', 'sweep', 'read', 'write'] as const;
export type Activity = (typeof ACTIVITY_NAMES)[number];
