/**
 * The public API: `lazy` and the creation functions, the free functions of the tables, running, results, errors.
 */

export {
  Batch,
  type BatchOptions,
  type BatchProgress,
  type BatchResult,
  type BatchSummary,
  batch,
  type Job,
  type JobContext,
  type JobGraph,
} from './batch.js';
export { chunked } from './chunked.js';
export {
  type ArgumentsOf,
  type ArrayArgument,
  type Compiled,
  type CompileOptions,
  compile,
  type FixedArgument,
  type ResultsOf,
  type Traced,
} from './compile.js';
export type { DTypeArgument, DTypeOption, EyeOptions } from './creation.js';
export {
  eye,
  full,
  fullLike,
  identity,
  lazy,
  ones,
  onesLike,
  zeros,
  zerosLike,
} from './creation.js';
export { type DeviceDescription, devices } from './devices.js';
export {
  ArgumentError,
  CompileError,
  DeviceError,
  DeviceLostError,
  DTypeError,
  FileError,
  InternalError,
  MemoryError,
  NativeError,
  RangeArgumentError,
  ShapeError,
} from './errors.js';
export type { ComputeOptions } from './exec/compute-options.js';
export type { DevicesOption } from './exec/native/devices.js';
export type { OnProgress, Progress } from './exec/progress.js';
export { synchronize } from './exec/synchronize.js';
export type { ArrayLike } from './fluent-types.js';
export * from './functions.js';
export type { ReduceOptions, SumOptions, VarianceOptions } from './graph/arguments.js';
export { type Complex, DTYPES, type DType, type Scalar } from './graph/dtype.js';
export type { Shape, TypedArray, TypedArrays } from './graph/expr.js';
export type { IndexList, TakeOptions } from './graph/indexing.js';
export type { PadWidths } from './graph/masks.js';
export type { Axes, ShapeArgument } from './graph/shape.js';
export type { Range, Selector } from './graph/slicing.js';
export type { NormOptions, NormOrder, StandardizeOptions } from './graph/statistics.js';
export type { ArrayData, ArrayOptions, ShapedData } from './host-array.js';
export type { Explanation } from './inspect/explain.js';
export type { ExplainedEdge, ExplainedStep, ExplanationData } from './inspect/explanation-data.js';
export type { PhaseSummary, PlanSummary, SweepSummary } from './inspect/summary.js';
export { Timeline } from './inspect/timeline.js';
export type { MemorySample, SpanKind, TimelineData, TimelineSpan } from './inspect/timeline-data.js';
export type { StreamSummary, Summary, WorkSummary } from './inspect/timeline-summary.js';
export type { PictureOptions } from './inspect/timeline-svg.js';
export { type ArrowColumn, fromArrow, type NullOptions } from './io/arrow.js';
export type { FilePath } from './io/data-file.js';
export type { ByteOrder, Order } from './io/layout.js';
export {
  type FromFileOptions,
  fromFile,
  type LazyRecord,
  type LoadOptions,
  loadNpy,
  loadNpz,
  loadSafetensors,
  loadSafetensorsMetadata,
} from './io/load.js';
export { loadParquet, type ParquetOptions } from './io/parquet.js';
export { type FromReaderOptions, fromReader, type ReadElements } from './io/reader.js';
export { type SaveOptions, saveNpy, saveNpz, saveRaw, saveSafetensors, saveZarr } from './io/save.js';
export {
  type NpyOptions,
  npy,
  npz,
  raw,
  type SafetensorsOptions,
  type Sink,
  safetensors,
  zarr,
} from './io/sinks.js';
export type { Sinks } from './io/store.js';
export { loadZarr, type ZarrSource } from './io/zarr.js';
export {
  broadcastArrays,
  concat,
  einsum,
  type MeshgridOptions,
  meshgrid,
  resultType,
  stack,
  unstack,
} from './joining.js';
export {
  type Arrays,
  type ComputeToOptions,
  compute,
  explain,
  Lazy,
  persist,
  plan,
  type Results,
} from './lazy.js';
export {
  type IterateOptions,
  iterate,
  type NamedStates,
  type NextStates,
  type StateArrays,
  type WhileOptions,
  whileLoop,
} from './loops.js';
export { limitMemory, type MemoryUse, memory, trim } from './memory.js';
export { NDArray, type NestedResult } from './ndarray.js';
export type { Nested } from './nested.js';
export { type PinnedArray, type PinnedOptions, pinned } from './pinned.js';
export { type PlaceholderOptions, placeholder } from './placeholder.js';
export { type Profiled, profile } from './profile.js';
export { progressLine } from './progress-line.js';
export { arange, type LinspaceOptions, linspace } from './ranges.js';
