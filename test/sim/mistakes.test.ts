/**
 * The simulator finds the mistakes it is there for: those of a host, made through the driver by
 * `native/sim/scenarios.cpp`, and those of kernels, written here. What is right it lets pass.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { compileCuda, createProgram, type ProgramSpec, run } from '../../src/exec/native/native.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { SIM_FOLDER } from './environment.js';
import {
  type Description,
  type DeviceSettings,
  type Problem,
  setDevices,
  settingsText,
  takeProblems,
} from './simulator.js';

const SCENARIOS: readonly (readonly [string, Problem['kind'] | undefined])[] = [
  ['two streams write', 'race'],
  ['a stream reads what another writes', 'race'],
  ['two streams read', undefined],
  ['two streams write apart', undefined],
  ['the host waits between two streams', undefined],
  ['the host waits for an event between two streams', undefined],
  ['an event that is recorded too early', 'race'],
  ['the default stream orders blocking streams', undefined],
  ['the default stream does not order others', 'race'],
  ['memory is used in another stream than it was made in', 'race'],
  ['memory is freed while another stream uses it', 'race'],
  ['pinned memory is overwritten while a copy reads it', 'race'],
  ['a block is freed twice', 'misuse'],
  ['freed memory is read', 'out-of-bounds'],
  ['a copy reaches beyond its block', 'out-of-bounds'],
  ['undefined memory is read', 'undefined-read'],
  ['a guard is written', 'guard'],
  ['an event is used after it was destroyed', 'misuse'],
  ['there is no context', 'misuse'],
  ['a stream waits for an event of another', undefined],
  ['a stream waits for an event that is recorded too early', 'race'],
  ['an event is waited for before it is recorded again', 'race'],
  ['a stream is used after it was destroyed', 'misuse'],
  ['rows are copied apart from what another stream writes', undefined],
  ['rows are copied while another stream writes them', 'race'],
  ['rows reach beyond their block', 'out-of-bounds'],
  ['a device gives to another', undefined],
  ['a device gives to another that reads too early', 'race'],
  ['a device waits for another by an event', undefined],
  ['a device gives more than the other has', 'out-of-bounds'],
  ['two devices that let each other in copy', undefined],
  ['two devices of which one lets the other in copy', 'misuse'],
  ['peer access is refused where there is none, and twice', undefined],
  ['a graph is launched again and again', undefined],
  ['a graph writes what another stream writes', 'race'],
  ['a graph is changed after it was launched', undefined],
  ['a graph reaches beyond its block', 'out-of-bounds'],
  ['a graph is destroyed while it is under way', undefined],
  ['a graph is launched after it was destroyed', 'misuse'],
  ['a loop in a graph is launched whose condition nothing sets', 'misuse'],
  ['a node is set after its graph was destroyed', 'misuse'],
  ['what is captured is launched, by itself and in a graph', undefined],
  ['what is captured is not done', 'undefined-read'],
  ['a copy that is captured runs each time that its graph does', undefined],
  ['a stream that captures is waited for', undefined],
  ['a stream that captures is given what is not captured', 'misuse'],
];

const scenario = (name: string, timing: string, devices: readonly DeviceSettings[] = []): Description =>
  JSON.parse(
    execFileSync(`${SIM_FOLDER}/weft-sim-scenarios`, [name], {
      encoding: 'utf8',
      env: {
        ...process.env,
        WEFT_SIM_SETTINGS: settingsText([
          ['schedule', { timing, seed: 3 }],
          ...devices.map((device) => ['device', device] as const),
        ]),
      },
    }),
  ) as Description;

describe('a program that makes a mistake', () => {
  it.each(SCENARIOS)('is judged whatever order its work runs in: %s (%s)', (name, kind) => {
    for (const timing of ['late', 'eager', 'random']) {
      const { problems } = scenario(name, timing);
      expect(problems.map((problem) => problem.kind)).toEqual(kind === undefined ? [] : [kind]);
    }
  });

  it('reaches the devices that it is asked to reach', () => {
    const devices = [{ unreachable: [1] }, {}];
    const { problems } = scenario('peer access is refused where there is none, and twice', 'late', devices);
    expect(problems).toEqual([]);
  });

  it('frees pinned memory that a queued copy uses', () => {
    const { problems } = scenario('pinned memory is freed while a copy uses it', 'late');
    expect(problems.map((problem) => problem.kind)).toEqual(['misuse']);
  });

  it('names both call sites of a race', () => {
    const [race] = scenario('a stream reads what another writes', 'late').problems;
    expect(race!.message).toMatch(/cuMemsetD8Async #\d+ and cuMemcpyDtoHAsync_v2 #\d+ .* 50 bytes/);
  });

  it('leaves what it does not destroy in the account', () => {
    expect(scenario('an event is left', 'late').live.events).toBe(1);
    expect(scenario('two streams read', 'late').live.events).toBe(0);
  });
});

/** Devices are lost one after the other. */
let ordinal = 0;
setDevices(Array.from({ length: 20 }, () => ({ memory: 2 ** 24 })));

/**
 * Runs a kernel over 64 floats x that are brought in and 64 floats y that are not, in one block of 64
 * threads.
 */
async function kernel(body: string, before = ''): Promise<Problem[]> {
  const source = `${before}\nextern "C" __global__ void __launch_bounds__(64)\nk(const float* __restrict__ x, float* __restrict__ y) {\n${body}\n}\n`;
  const { image } = await compileCuda(source, ['--std=c++17', '--gpu-architecture=sm_90']);
  const spec: ProgramSpec = {
    device: `cuda:${ordinal++}`,
    arenaByteLength: 256,
    images: [{ key: source, bytes: image }],
    buffers: [
      { role: 'input', byteLength: 256, offset: -1 },
      { role: 'output', byteLength: 256, offset: -1 },
    ],
    steps: [
      {
        kind: 'launch',
        image: 0,
        function: 'k',
        grid: [1, 1, 1],
        block: [64, 1, 1],
        sharedByteLength: 0,
        args: [{ buffer: 0 }, { buffer: 1 }],
      },
    ],
  };
  // On the device, so that nothing reads what a kernel left undefined.
  const result = await run(createProgram(spec), [new Float32Array(64)], { outputs: ['device'] }).catch(
    () => undefined,
  );
  for (const output of result?.outputs ?? []) (output as DeviceBuffer).dispose();
  return [...takeProblems()];
}

const T = 'const int t = (int)threadIdx.x;';

describe('a kernel', () => {
  it.each([
    ['writes beyond its buffer', `${T} y[t + 1] = 0;`, 'out-of-bounds', /writes 4 bytes.*thread 63/],
    ['writes before its buffer', `${T} if (t == 7) y[-1] = 0; else y[t] = 0;`, 'out-of-bounds', /thread 7/],
    ['reads far away', `${T} y[t] = x[t * 1000000000ll];`, 'out-of-bounds', /reads 4 bytes/],
    [
      'reads a vector that is not aligned',
      `struct alignas(8) P { float v[2]; }; ${T} P p = *reinterpret_cast<const P*>(x + t / 2 + 1); y[t] = p.v[0] + p.v[1];`,
      'out-of-bounds',
      /not aligned/,
    ],
    [
      'indexes registers beyond their end',
      `${T} float r[4] = {x[t], 1, 2, 3}; y[t] = r[t % 5];`,
      'out-of-bounds',
      /with 4/,
    ],
    ['reads what was never written', `${T} y[t] = y[t] + x[t];`, 'undefined-read', /undefined memory/],
    [
      'has a barrier that not every thread reaches',
      `${T} if (t < 63) __syncthreads(); y[t] = 0;`,
      'out-of-bounds',
      /barrier/,
    ],
    [
      'reads shared memory without a barrier',
      `__shared__ float s[64]; ${T} s[t] = x[t]; y[t] = s[t ^ 1];`,
      'shared-memory',
      /another thread wrote|no thread of the block wrote/,
    ],
    [
      'overwrites shared memory that others read',
      `__shared__ float s[64]; ${T} s[t] = x[t]; __syncthreads(); const float a = s[t ^ 1]; s[t] = a; __syncthreads(); y[t] = s[t];`,
      'shared-memory',
      /another thread/,
    ],
    [
      'reads shared memory that nobody wrote',
      `__shared__ float s[65]; ${T} s[t] = x[t]; __syncthreads(); y[t] = s[t + 1];`,
      'shared-memory',
      /no thread/,
    ],
    [
      'writes an element from two threads',
      `${T} y[t / 2] = 1;`,
      'race',
      /writes what another thread of the launch wrote/,
    ],
    [
      'reads what another of its threads writes',
      `${T} y[t] = 1; __syncthreads(); y[t ^ 33] = y[t] + 1;`,
      'race',
      /another thread of the launch/,
    ],
  ] as const)('that %s is found out', async (_, body, kind, message) => {
    const problems = await kernel(body);
    expect(new Set(problems.map((problem) => problem.kind))).toEqual(new Set([kind]));
    expect(problems[0]!.message).toMatch(message);
  });

  it('that does none of this passes', async () => {
    const body = `__shared__ float s[64]; ${T} s[t] = x[t]; __syncthreads();
      y[t] = s[63 - t] + __int_as_float((int)__shfl_xor_sync(0xffffffffu, (unsigned)__float_as_int(x[t]), 3));`;
    expect(await kernel(body)).toEqual([]);
  });

  it('that uses what the simulator lacks does not compile', async () => {
    const options = ['--gpu-architecture=sm_90'];
    const compiling = (body: string) =>
      compileCuda(`extern "C" __global__ void k(float* y) {\n${body}\n}\n`, options);
    await expect(compiling('y[0] = __tanhf(1);')).rejects.toThrow(/__tanhf.*NVRTC_ERROR_COMPILATION/);
    await expect(compiling('asm("bar.sync 0;" : : );')).rejects.toThrow(/inline PTX/);
    await expect(compiling('float r; asm("sin.approx.f32 %0, %1;" : "=f"(r) : "f"(y[0]));')).rejects.toThrow(
      /weft_ptx_sin_approx_f32/,
    );
    await expect(compileCuda('', ['--fast'])).rejects.toThrow(/NVRTC_ERROR_INVALID_OPTION/);
  });
});
