/** WEFT_CHECK: errors of kernels that are written as functions, found on the CPU, with line and column. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { KernelBody } from '../src/api/kernel-functions.js';
import { kernel } from '../src/api/kernels.js';

vi.hoisted(() => {
  process.env.WEFT_CHECK = '1';
});

afterAll(() => {
  delete process.env.WEFT_CHECK;
});

/** Runs a kernel of two blocks of four threads on eight numbers, which writes eight. */
const run = (fn: KernelBody, initial?: number, captures = {}) =>
  kernel(fn, {
    captures,
    inputs: { x: 'float32' },
    outputs: { y: { dtype: 'float32', shape: 8, ...(initial === undefined ? {} : { initial }) } },
    grid: 2,
    block: 4,
  })([1, 2, 3, 4, 5, 6, 7, 8]).compute({ device: 'cpu' });

describe('a kernel that is checked', () => {
  it('gives its values where it does nothing wrong', async () => {
    const reversed = await run(({ threadIdx, blockIdx, shared, sync }, x, y) => {
      const own = shared('float32', 4);
      const at = blockIdx.x * 4 + threadIdx.x;
      own[threadIdx.x] = x[at]!;
      sync();
      y[at] = own[3 - threadIdx.x]!;
    });
    expect(reversed.toArray()).toEqual([4, 3, 2, 1, 8, 7, 6, 5]);
  });

  it('may not share elements of a block without a barrier between', async () => {
    const racing = run(({ threadIdx, blockIdx, shared }, x, y) => {
      const own = shared('float32', 4);
      const at = blockIdx.x * 4 + threadIdx.x;
      own[threadIdx.x] = x[at]!;
      y[at] = own[3 - threadIdx.x]!;
    });
    await expect(racing).rejects.toThrow(
      /a sync\(\) between threads that share an element: thread 3 writes it, too \(block 0, 0, 0; thread 0, 0, 0\) at line 5, column 12 of the function/,
    );
  });

  it('may not write elements of other blocks, but by atomic operations', async () => {
    const both = run(({ threadIdx }, x, y) => {
      y[threadIdx.x] = x[threadIdx.x]!;
    }, 0);
    await expect(both).rejects.toThrow(
      /another block \(number 0\) writes this one \(block 1, 0, 0; thread 0, 0, 0\)/,
    );
    const added = await run(({ threadIdx, atomicAdd }, x, y) => {
      atomicAdd(y, threadIdx.x, x[threadIdx.x]!);
    }, 0);
    expect(added.toArray()).toEqual([2, 4, 6, 8, 0, 0, 0, 0]);
  });

  it('may not read shared memory and outputs that nothing wrote', async () => {
    const undefinedRead = run(({ threadIdx, blockIdx, shared }, x, y) => {
      const own = shared('float32', 4);
      y[blockIdx.x * 4 + threadIdx.x] = own[threadIdx.x]! + x[0]!;
    });
    await expect(undefinedRead).rejects.toThrow(
      /an element that was written before it is read .* at line 3, column 38/,
    );
  });

  it('has to write all of its outputs', async () => {
    const some = run(({ threadIdx, blockIdx }, x, y) => {
      if (threadIdx.x !== 2) y[blockIdx.x * 4 + threadIdx.x] = x[0]!;
    });
    await expect(some).rejects.toThrow('output number 0 to be written: no thread writes element 2');
  });

  it('has to bring all threads of a block to a barrier', async () => {
    const some = run(({ threadIdx, sync }, x, y) => {
      if (threadIdx.x < 2) sync();
      y[threadIdx.x] = x[0]!;
    });
    await expect(some).rejects.toThrow(
      /sync\(\) that all threads of a block reach: not this one .*thread 2, 0, 0\) at line 2/,
    );
  });

  it('has no indices out of range', async () => {
    const beyond = run(({ threadIdx, blockIdx }, x, y) => {
      const at = blockIdx.x * 4 + threadIdx.x;
      y[at] = x[at + 1]!;
    });
    await expect(beyond).rejects.toThrow(
      /an index from 0 to 7: 8 \(block 1, 0, 0; thread 3, 0, 0\) at line 3, column 12/,
    );
  });
});

describe('warps of a kernel that is checked', () => {
  it('may share elements between their barriers, and not without', async () => {
    const turned = await run(({ threadIdx, blockIdx, shared, syncwarp }, x, y) => {
      const own = shared('float32', 4);
      const at = blockIdx.x * 4 + threadIdx.x;
      own[threadIdx.x] = x[at]!;
      syncwarp();
      const before = own[3 - threadIdx.x]! + own[threadIdx.x ^ 1]!;
      syncwarp();
      own[threadIdx.x] = before;
      y[at] = own[threadIdx.x]!;
    });
    expect(turned.toArray()).toEqual([6, 4, 6, 4, 14, 12, 14, 12]);
    const racing = run(({ threadIdx, blockIdx, shared, syncwarp }, x, y) => {
      const own = shared('float32', 4);
      own[threadIdx.x] = x[threadIdx.x]!;
      syncwarp();
      const before = own[0]!;
      own[threadIdx.x] = before;
      y[blockIdx.x * 4 + threadIdx.x] = own[threadIdx.x]!;
    });
    await expect(racing).rejects.toThrow(/share an element: thread 3 reads it, too .* at line 6, column 4/);
  });

  it('call together with the lanes of their mask, and read one of those', async () => {
    const apart = run(({ threadIdx, shflSync }, x, y) => {
      if (threadIdx.x < 2) y[threadIdx.x] = shflSync(0xf, x[threadIdx.x]!, 0);
    });
    await expect(apart).rejects.toThrow(
      /the lanes of the mask to call together: lane 2 does not \(block 0, 0, 0; thread 0, 0, 0\) at line 2, column 42/,
    );
    const others = run(({ threadIdx, ballotSync }, _x, y) => {
      y[threadIdx.x] = ballotSync(threadIdx.x < 2 ? 0xf : 0x7, true);
    });
    await expect(others).rejects.toThrow('one mask of the lanes in it: another of lane 2');
    const without = run(({ threadIdx, anySync }, _x, y) => {
      y[threadIdx.x] = anySync(0b1101, true) ? 1 : 0;
    });
    await expect(without).rejects.toThrow(/a mask with the lane that calls: without it .*thread 1, 0, 0/);
    const beyond = run(({ threadIdx, shflDownSync }, x, y) => {
      y[threadIdx.x] = shflDownSync(0xffffffff, x[threadIdx.x]!, 1);
    });
    await expect(beyond).rejects.toThrow(/a lane to read that takes part: lane 4 does not .*thread 3, 0, 0/);
  });
});

describe('integers without a dtype', () => {
  it('have 32 bits where arrays are short, and are refused where a literal has more', () => {
    const beyond: KernelBody = (_, _x, y) => {
      let k = 2 ** 40;
      k += 1;
      y[0] = k;
    };
    expect(() => run(beyond)).toThrow('an integer of int32: 1099511627776');
  });
});

describe('a function that is no kernel', () => {
  const refused = (fn: KernelBody) => () => run(fn);
  it('is refused with its place', () => {
    expect(
      refused((_, x) => {
        x[0] = 1;
      }),
    ).toThrow('3 parameters, of the kernel, then x, y: 2');
    expect(
      refused((_, x, y) => {
        x[0] = y[0]!;
      }),
    ).toThrow('an output or shared memory to write to: the input x');
    expect(refused((_, _x, _y) => {})).toThrow('something that is written to the output y: nothing');
    expect(
      refused((k, _x, y) => {
        y[0] = (k as never as { lane: number }).lane;
      }),
    ).toThrow('a function of kernels');
    expect(
      refused((_, _x, y) => {
        y[0] = limit;
      }),
    ).toThrow(
      /names that the function can see: limit \(give it: \{ captures: \{ limit \} \}\) at line 2, column 11/,
    );
    expect(
      refused((k, _x, y) => {
        y[0] = k.atomicAnd(y, 0, 1);
      }),
    ).toThrow('an array of int32, uint32, int64, uint64 for atomicAnd: float32');
    const warps: readonly [KernelBody, string][] = [
      [
        (k, x, y) => {
          y[0] = k.shflSync(0xf, x[0]!, 0, 5);
        },
        'a width that is known, a power of two up to 32: 5',
      ],
      [
        (k, x, y) => {
          y[0] = k.reduceAddSync(0xf, x[0]!);
        },
        'a value of int32 or uint32 for reduceAddSync: float32',
      ],
      [
        (k, _x, y) => {
          y[0] = (k.ballotSync as (mask: number) => number)(1);
        },
        'ballotSync(mask, condition) of numbers',
      ],
    ];
    for (const [fn, message] of warps) expect(refused(fn)).toThrow(`${message}`);
    for (const mask of [0, -1, 1.5, 2 ** 32, Number.NaN]) {
      const body: KernelBody = (k, _x, y) => {
        y[0] = k.ballotSync(mask, true);
      };
      expect(() => run(body, undefined, { mask })).toThrow(
        `a mask with bits of lanes, 1 to 0xffffffff: ${mask} (0xffffffff is all lanes) at line 2, column 12`,
      );
    }
    expect(
      refused((k, x, y) => {
        y[0] = k.ballotSync(x[0]!, true);
      }),
    ).toThrow('a mask of integers: float32');
    expect(
      refused(({ shared, threadIdx }, _x, y) => {
        if (threadIdx.x > 0) {
          const s = shared('int8', 4);
          y[0] = s[0]!;
        }
      }),
    ).toThrow('shared memory at the top of the kernel');
    expect(
      refused((_, x, y) => {
        y[0] = x.at(0, 1);
      }),
    ).toThrow('1 indices of x: 2');
    expect(
      refused((_, _x, y) => {
        y[0] = 1;
        return 3 as never;
      }),
    ).toThrow('a kernel that returns nothing');
    expect(refused((async (_: never, _x: never, _y: never) => {}) as never)).toThrow(
      'a function that is not async',
    );
    expect(
      refused((_, _x, y) => {
        const one = async () => 1;
        y[0] = one() as never;
      }),
    ).toThrow('a function that is not async');
  });
});
declare const limit: number;
