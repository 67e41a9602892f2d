/**
 * Persists expressions on devices that the user names. An array that is stored elsewhere goes there: from GPU
 * to GPU directly where they reach each other, else through host memory, as does what comes from or goes to
 * the CPU. It stays where it was, too, until it is disposed of. Called by `persist`.
 *
 * Only an array itself goes to another device; what computes with it is refused there, as everywhere.
 */
import { type DeviceBuffer, type Expr, holdersOf } from '../../graph/expr.js';
import { denseStrides } from '../../graph/graph.js';
import { hostArray } from '../../graph/infer.js';
import { arrayOf } from '../native/held-elements.js';
import { CPU, type Device, deviceFrom, deviceNamed } from '../targets/device.js';
import { devicesFrom, probeFor } from '../targets/devices.js';
import type { ComputeOptions } from './compute-options.js';
import { evaluate, evaluateStored, type StoredResult } from './evaluate.js';

/** Computes expressions and leaves the results on their devices, those that are named before all. */
export async function persistExprs(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
): Promise<StoredResult[]> {
  const { device, devices } = options;
  if ((device === undefined) === (devices === undefined) || !exprs.some(isStored))
    return evaluateStored(exprs, options);
  await probeFor(device);
  const targets = devices === undefined ? [deviceFrom('compute', device)] : devicesFrom(devices);
  const names = targets.map(({ name }) => name);
  const ways = exprs.map((expr) => wayOf(expr, targets));
  const toGpus = await evaluateSome(exprs, ways, 'between GPUs', (some) =>
    evaluateStored(some, { ...options, device: undefined, devices: names }),
  );
  const inHost = await evaluateSome(exprs, ways, 'through the host', (some) => throughHost(some, options));
  const others = exprs.map((expr, k) => inHost.get(k) ?? expr);
  const rest = others.filter((_, k) => !toGpus.has(k));
  const results = rest.length === 0 ? [] : await evaluateStored(rest, options);
  return exprs.map((_, k) => toGpus.get(k) ?? results.shift()!);
}

type Way = 'computed' | 'between GPUs' | 'through the host';

const bufferOf = (expr: Expr): DeviceBuffer | undefined =>
  expr.kind === 'source' && expr.source.type === 'device' ? expr.source.buffer : undefined;

const isStored = (expr: Expr): boolean => bufferOf(expr) !== undefined;

/** How an expression comes to some devices. */
function wayOf(expr: Expr, devices: readonly Device[]): Way {
  const buffer = bufferOf(expr);
  if (buffer === undefined) return 'computed';
  const holders = holdersOf(buffer).map(deviceNamed);
  const isSame = holders.length === devices.length && holders.every((holder, k) => holder === devices[k]);
  if (isSame) return 'computed';
  return holders.includes(CPU) || devices.includes(CPU) ? 'through the host' : 'between GPUs';
}

/** Evaluates the expressions that go a way; the results by position among all. */
async function evaluateSome<Result>(
  exprs: readonly Expr[],
  ways: readonly Way[],
  way: Way,
  evaluateAll: (some: readonly Expr[]) => Promise<readonly Result[]>,
): Promise<Map<number, Result>> {
  const positions = ways.flatMap((own, k) => (own === way ? [k] : []));
  if (positions.length === 0) return new Map();
  const results = await evaluateAll(positions.map((k) => exprs[k]!));
  return new Map(positions.map((position, k) => [position, results[k]!]));
}

/** Stored arrays as arrays in host memory. Each is copied by itself: they may be on different devices. */
function throughHost(exprs: readonly Expr[], options: ComputeOptions): Promise<Expr[]> {
  const { device: _, devices: __, ...others } = options;
  return Promise.all(
    exprs.map(async (expr) => {
      const [{ data, dtype, shape }] = (await evaluate([expr], others)) as [
        Awaited<ReturnType<typeof evaluate>>[number],
      ];
      const source = { type: 'host', data: arrayOf(data), offset: 0, strides: denseStrides(shape) } as const;
      return hostArray(source, dtype, shape);
    }),
  );
}
