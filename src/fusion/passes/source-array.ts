/**
 * SourceArray: the part of an array that a graph reads, behind one of its `source` nodes. Listed by
 * `graph-building.ts`.
 */
import type { DType } from '../../graph/dtype.js';
import type { DeviceSource, SegmentSource, StridedSource } from '../../graph/expr.js';

export interface SourceArray {
  readonly source: StridedSource | DeviceSource | SegmentSource;
  /** First element read, and how many from there on; node offsets count from `start`. */
  readonly start: number;
  readonly elementCount: number;
  readonly dtype: DType;
}
