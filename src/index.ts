/**
 * The public API: `lazy` and the creation functions, the free functions of the tables, running, results,
 * errors.
 */

export {
  Batch,
  type BatchOptions,
  type BatchResult,
  type BatchSummary,
  batch,
  type Job,
  type JobContext,
  type JobGraph,
} from './api/batch.js';
export { chunked } from './api/chunked.js';
export {
  type ArgumentsOf,
  type ArrayArgument,
  type Compiled,
  type CompileOptions,
  compile,
  type FixedArgument,
  type ResultsOf,
  type Traced,
} from './api/compile.js';
export { type Arrays, compute, explain, persist, plan, type Results } from './api/compute.js';
export type { ComputeToOptions } from './api/computing.js';
export type { DTypeArgument, DTypeOption, EyeOptions } from './api/creation.js';
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
} from './api/creation.js';
export {
  type CudaElementFunction,
  type CudaResults,
  type ElementwiseCudaOptions,
  elementwiseCuda,
} from './api/cuda-functions.js';
export { type CudaReduction, type ReductionCudaOptions, reductionCuda } from './api/cuda-reductions.js';
export { type Dashboard, type DashboardOptions, dashboard } from './api/dashboard.js';
export {
  type DevicePointer,
  devicePointer,
  type ForeignOptions,
  type ForeignPointer,
  fromDevicePointer,
} from './api/device-pointers.js';
export { type DeviceDescription, devices } from './api/devices.js';
export {
  broadcastShapes,
  canCast,
  type DTypeKindName,
  type FloatInfo,
  finfo,
  type IntegerInfo,
  iinfo,
  isdtype,
} from './api/dtype-info.js';
export { type EinsumAxes, EinsumPath, einsum, einsumPath } from './api/einsum.js';
export {
  type ElementFunction,
  type ElementwiseOptions,
  elementwise,
  type ScalarResult,
} from './api/element-functions.js';
export { fft } from './api/fft.js';
export type { FftNorm, FftnOptions, FftOptions } from './api/fft-arguments.js';
export type {
  AroundFilterOptions,
  BinaryOptions,
  FilterOptions,
  GaussianOptions,
  GreyOptions,
  LineFilterOptions,
  UniformFilterOptions,
  WindowFilterOptions,
} from './api/filter-options.js';
export type { ArrayLike } from './api/fluent-types.js';
export * from './api/functions.js';
export { Groups } from './api/groups.js';
export {
  type Bins,
  type HistogramOptions,
  type HistogramsOptions,
  histogram,
  histogram2d,
  histogramdd,
} from './api/histograms.js';
export { fromfunction, indices, type TriangleOptions, trilIndices, triuIndices } from './api/index-arrays.js';
export {
  append,
  broadcastArrays,
  concat,
  type MeshgridOptions,
  meshgrid,
  resultType,
  select,
  split,
  stack,
  unstack,
} from './api/joining.js';
export type {
  KernelBody,
  KernelContext,
  KernelParameter,
  KernelPlaces,
  KernelView,
} from './api/kernel-functions.js';
export type { KernelBlockPart, KernelCutsSpec } from './api/kernel-launch.js';
export type {
  KernelArray,
  KernelInput,
  KernelInputs,
  KernelOutputSpec,
  KernelScalar,
  KernelShape,
  KernelShapes,
  OfShapes,
} from './api/kernel-options.js';
export type {
  KernelFunction,
  KernelFunctionOptions,
  KernelLaunch,
  KernelOptions,
  KernelOutputs,
  KernelResult,
  KernelSizes,
} from './api/kernel-types.js';
export { kernel } from './api/kernels.js';
export { Lazy } from './api/lazy.js';
export { linalg } from './api/linalg.js';
export type { LinalgNormOrder } from './api/linalg-arguments.js';
export type { Eig, Eigh, EighOptions, QR, QrOptions, SVD, SvdOptions } from './api/linalg-decompositions.js';
export type { LeastSquares, LstsqOptions, PinvOptions } from './api/linalg-least-squares.js';
export type { LowRankOptions, PCA } from './api/linalg-low-rank.js';
export type {
  LinalgNormOptions,
  MatrixNormOptions,
  MatrixRankOptions,
  SignAndLog,
} from './api/linalg-numbers.js';
export type {
  CholeskyOptions,
  LU,
  LuFactors,
  LuOptions,
  LuSolveOptions,
  SolveTriangularOptions,
  TransposeArgument,
} from './api/linalg-systems.js';
export {
  type IterateOptions,
  iterate,
  type NamedStates,
  type NextStates,
  type StateArrays,
  type WhileOptions,
  whileLoop,
} from './api/loops.js';
export { limitMemory, type MemoryUse, memory, trim } from './api/memory.js';
export type { Monoid, UserScanOptions } from './api/monoid-functions.js';
export { NDArray, type NestedResult } from './api/ndarray.js';
export { ndimage } from './api/ndimage.js';
export type {
  AffineOptions,
  InterpolationOptions,
  RotateOptions,
  SplineFilterOptions,
  ZoomOptions,
} from './api/ndimage-interpolation.js';
export type { LabelOptions, Labels } from './api/ndimage-labels.js';
export type { DerivativeOptions } from './api/ndimage-sums.js';
export { lexsort, type TopKOptions, topK } from './api/ordering.js';
export { type PinnedArray, type PinnedOptions, pinned } from './api/pinned.js';
export { type PlaceholderOptions, placeholder } from './api/placeholder.js';
export { type PrecompiledKernels, type PrecompileOptions, precompile } from './api/precompile.js';
export { type Profiled, profile } from './api/profile.js';
export { progressLine } from './api/progress-line.js';
export {
  type ChoiceOptions,
  type ExponentialOptions,
  type IntegersOptions,
  type KeyOptions,
  random,
  type UniformOptions,
} from './api/random.js';
export type { KeyArgument, NormalOptions, RandomKey, SampleOptions } from './api/random-arguments.js';
export type { LocatedOptions, ScaledOptions } from './api/random-distributions.js';
export type { MultivariateNormalOptions } from './api/random-multivariate.js';
export {
  arange,
  geomspace,
  type LinspaceOptions,
  type LogspaceOptions,
  linspace,
  logspace,
} from './api/ranges.js';
export {
  nonzero,
  type UniqueAll,
  type UniqueCounts,
  type UniqueInverse,
  uniqueAll,
  uniqueCounts,
  uniqueInverse,
} from './api/sets.js';
export { sparse } from './api/sparse.js';
export type { MatrixShape } from './api/sparse-arguments.js';
export { SparseCholesky } from './api/sparse-cholesky.js';
export type { CompressedArrays, CoordinateArrays, SparseDiagonalOptions } from './api/sparse-construction.js';
export { SparseLU, type SparseLuOptions, type SparseTranspose } from './api/sparse-direct.js';
export type {
  EigshOptions,
  SparseEigh,
  SparseSvd,
  SvdsOptions,
  WhichEigenvalues,
} from './api/sparse-eigen.js';
export type { GmresOptions } from './api/sparse-gmres.js';
export type { LeastSquaresOptions, LsmrSolution } from './api/sparse-least-squares.js';
export type { LsmrOptions } from './api/sparse-lsmr.js';
export type { LsqrOptions } from './api/sparse-lsqr.js';
export { type SparseArrays, SparseMatrix } from './api/sparse-matrix.js';
export type { LinearOperator, MatrixLike } from './api/sparse-operators.js';
export type { SparseRandomOptions } from './api/sparse-random.js';
export type { Solution, SolverOptions } from './api/sparse-systems.js';
export type { SparseTriangularOptions } from './api/sparse-triangular.js';
export { type Distribution, type DistributionOfFreedom, type LocationOptions, stats } from './api/stats.js';
export { Updates } from './api/updates.js';
export { reduction, scan, type UserReduction, type UserScan } from './api/user-reductions.js';
export {
  type ArrowColumn,
  type ArrowModule,
  type ArrowTable,
  fromArrow,
  type ToArrowOptions,
  toArrow,
} from './exchange/arrow.js';
export type { ColumnOptions, MaskedColumn, NullOptions } from './exchange/columns.js';
export {
  type DLPackCapsule,
  type DLPackOptions,
  fromDLPack,
  takeDLPack,
  toDLPack,
} from './exchange/dlpack.js';
export {
  type DuckDBChunk,
  type DuckDBModule,
  type DuckDBResult,
  fromDuckDB,
  toDuckDB,
} from './exchange/duckdb.js';
export {
  type CanvasImage,
  fromImage,
  type ImageInfo,
  type ImagePixels,
  type RawImage,
  toImage,
} from './exchange/images.js';
export {
  fromTensor,
  type OrtModule,
  type OrtTensor,
  type TfModule,
  type TfTensor,
  toTensor,
} from './exchange/tensors.js';
export type { ComputeOptions } from './exec/run/compute-options.js';
export type { OnProgress, Progress } from './exec/run/progress.js';
export { synchronize } from './exec/run/synchronize.js';
export type { BatchProgress } from './exec/run/watch.js';
export type { DevicesOption } from './exec/targets/devices.js';
export type { ReduceOptions, SumOptions, VarianceOptions } from './graph/arguments.js';
export type { OutOfRange } from './graph/bin-arguments.js';
export type { BorderMode, BorderOptions } from './graph/borders.js';
export type { ConvolveMode } from './graph/convolve-modes.js';
export type { CovarianceOptions, VariableOptions } from './graph/correlations.js';
export type { BincountOptions } from './graph/counting.js';
export type { GradientOptions } from './graph/differences.js';
export type { Complex, DType, Scalar } from './graph/dtype.js';
export type { EinsumOptions } from './graph/einsum.js';
export type { NanToNumOptions } from './graph/elementwise.js';
export type { ProductLibrary, Shape, TypedArray, TypedArrays } from './graph/expr.js';
export type { FftConvolveOptions } from './graph/fft-convolve.js';
export type { NestedNumbers, PerAxis, WindowOptions } from './graph/filter-arguments.js';
export type { IndexList } from './graph/index-lists.js';
export type { TakeOptions } from './graph/indexing.js';
export type { InterpolationMode } from './graph/interpolation.js';
export type { PadWidths } from './graph/masks.js';
export type { PixelRange } from './graph/pixels.js';
export type { ProductPrecision } from './graph/precision.js';
export type { ProductOptions } from './graph/product-options.js';
export type { InterpOptions, SearchSortedOptions } from './graph/searching.js';
export type { SegmentOptions } from './graph/segment-reductions.js';
export type { Range, Selector, SliceOptions } from './graph/selectors.js';
export type { Axes, ShapeArgument } from './graph/shape.js';
export type { SortOptions } from './graph/sorting.js';
export type { NormOptions, NormOrder, StandardizeOptions } from './graph/statistics.js';
export type { PutOptions } from './graph/updates.js';
export type { UpdateOptions } from './graph/writing.js';
export {
  ArgumentError,
  CompileError,
  DeviceError,
  DeviceLostError,
  DTypeError,
  FileError,
  InternalError,
  LinalgError,
  MemoryError,
  NativeError,
  RangeArgumentError,
  ShapeError,
} from './host/errors.js';
export type { ArrayData, ArrayOptions, ShapedData } from './host/host-array.js';
export type { Nested } from './host/nested.js';
export type { Explanation } from './inspect/explain.js';
export type { ExplainedEdge, ExplainedStep, ExplanationData } from './inspect/explanation-data.js';
export type { PhaseSummary, PlanSummary, SweepSummary } from './inspect/summary.js';
export { Timeline } from './inspect/timeline.js';
export type { MemorySample, SpanKind, TimelineData, TimelineSpan } from './inspect/timeline-data.js';
export type { StreamSummary, Summary, WorkSummary } from './inspect/timeline-summary.js';
export type { PictureOptions } from './inspect/timeline-svg.js';
export type { Color, ColorMap } from './io/color-maps.js';
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
export type { PngOptions } from './io/png.js';
export { type FromReaderOptions, fromReader, type ReadElements } from './io/reader.js';
export {
  type SaveOptions,
  saveNpy,
  saveNpz,
  savePng,
  saveRaw,
  saveSafetensors,
  saveZarr,
} from './io/save.js';
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
export { DTYPES } from './shared/layout.js';
