/**
 * Interleaved channels: accesses of one buffer that walk it alike, some elements apart within each step, as the
 * colours of an image do. Their chunks move together, as whole packs, and are taken apart in registers:
 *
 *     load b0[3 i], load b0[3 i + 1], load b0[3 i + 2]   →   3 packs of 4 elements for 4 steps i
 *
 * Called by `chunks.ts` and `schedules/schedule-map.ts`.
 */
import { type Access, sameNumbers } from '../../fusion/kernel/kernel.js';

/** Most channels: those of colours with opacity. */
const MOST_CHANNELS = 4;

/** The accesses of the channels of one buffer. */
export interface Interleaved {
  /** Elements from one step along the axis to the next. */
  readonly channels: number;
  /** The access of the first channel, which need not be among the members. */
  readonly first: Access;
  /** By position in the list of accesses, the channel of each. */
  readonly members: ReadonlyMap<number, number>;
}

const channelOf = ({ offset }: Access, channels: number): number => offset % channels;

/**
 * The groups of accesses that are interleaved along an axis. `needsAll`: packs are written, so that every channel has
 * to be there; else the last one, which shows that whole packs are within the buffer.
 */
export function interleavedOf(accesses: readonly Access[], axis: number, needsAll: boolean): Interleaved[] {
  const groups: { readonly leader: Access; readonly members: Map<number, number> }[] = [];
  for (const [k, access] of accesses.entries()) {
    const channels = access.strides[axis] ?? 0;
    if (channels < 2 || channels > MOST_CHANNELS || access.bounds.length > 0 || access.index !== undefined)
      continue;
    const isBeside = ({ leader }: { readonly leader: Access }): boolean =>
      leader.buffer === access.buffer &&
      sameNumbers(leader.strides, access.strides) &&
      Math.floor(leader.offset / channels) === Math.floor(access.offset / channels);
    const group = groups.find(isBeside);
    if (group === undefined)
      groups.push({ leader: access, members: new Map([[k, channelOf(access, channels)]]) });
    else group.members.set(k, channelOf(access, channels));
  }
  return groups.flatMap(({ leader, members }): Interleaved[] => {
    const channels = leader.strides[axis]!;
    const found = new Set(members.values());
    const isWhole = needsAll ? found.size === channels : found.size > 1 && found.has(channels - 1);
    const first = { ...leader, offset: leader.offset - channelOf(leader, channels) };
    return isWhole ? [{ channels, first, members }] : [];
  });
}

/** Whether packs of `width` elements start at multiples of their length, from the first channel's access on. */
export const isAlignedGroup = ({ offset, strides }: Access, axis: number, width: number): boolean =>
  width > 1 && offset % width === 0 && strides.every((stride, k) => k === axis || stride % width === 0);
