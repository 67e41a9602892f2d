/** Every row of the op table × every dtype it takes × every backend, against NumPy, specials included. */
import { describe, expect, it, vi } from 'vitest';
import { DTYPES, type DType, isComplex } from '../../src/graph/dtype.js';
import { OP_NAMES, type OpName, opRow } from '../../src/graph/ops.js';
import { failuresOf, freeFunction, type Prepared, toLazy } from '../support/api.js';
import { backends, runsOthers, whyNotOthers } from '../support/backends.js';
import { fixtures, type OpCase, promotionFixture, tableFixture } from '../support/fixtures.js';
import { type HostArray, sizeOf, toScalars } from '../support/host.js';
import { argumentDTypes, describeTables } from '../support/table.js';
import { complexCompared, opTolerance } from '../support/tolerance.js';
import { mismatch, show } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const { cases, read } = fixtures('ops');

describe.runIf(runsOthers)(`the op fixtures${whyNotOthers}`, () => {
  it('were made from the table as it is now', () => {
    // After a change of a row: npx tsc; node scripts/dump-ops.mjs; python3 scripts/make-fixtures.py
    expect(tableFixture()).toEqual(JSON.parse(JSON.stringify(describeTables())));
  });

  it('have a case for every row and every dtype it takes', () => {
    const covered = new Set(cases.map((c) => `${c.op} ${c.dtype}`));
    const taken = OP_NAMES.flatMap((op) =>
      DTYPES.filter((d) => opRow(op).dtype(argumentDTypes(op, opRow(op).arity, d)) !== undefined).map(
        (d) => `${op} ${d}`,
      ),
    );
    expect([...covered].sort()).toEqual(taken.sort());
  });

  it("take what NumPy's functions take, but for some, and give the dtype that those give", () => {
    const refused: Record<string, string[]> = {};
    for (const [op, results] of Object.entries(promotionFixture().results)) {
      const row = opRow(op as OpName);
      for (const [dtype, result] of Object.entries(results)) {
        const ours = row.dtype(argumentDTypes(op, row.arity, dtype as DType))?.result ?? null;
        if (ours === null && result !== null) refused[op] = [...(refused[op] ?? []), dtype];
        else expect([op, dtype, ours]).toEqual([op, dtype, result]);
      }
    }
    const complex = ['complex64', 'complex128']; // which have no order
    const ordered = ['maximum', 'minimum', 'less', 'lessEqual', 'greater', 'greaterEqual'];
    expect(refused).toEqual({
      ...Object.fromEntries(ordered.map((op) => [op, complex])),
      nextafter: ['bool', 'int8', 'uint8', 'float16'], // which are computed in float32
      exp2: complex,
      bitwiseLeftShift: ['bool'],
      bitwiseRightShift: ['bool'],
    });
  });

  it('hold specials besides ordinary values', () => {
    for (const c of cases.filter((entry) => entry.op !== 'where'))
      expect(sizeOf(c.output.shape)).toBeGreaterThan(c.random);
  });
});

/** A case as a build of the public API and a check of its result. */
function prepare(op: OpName, c: OpCase): Prepared {
  const signature = opRow(op).dtype(c.inputs.map((x) => x.dtype))!;
  const compute = signature.args.at(-1)!;
  const args: HostArray[] = c.inputs.map(read);
  const values = args.map(toScalars);
  const tolerance = opTolerance(op, compute, c.output.dtype);
  const at = (i: number) => values.map((v) => v[i]!);
  return {
    label: `${op} of ${c.dtype}`,
    build: () => freeFunction(op)(...args.map(toLazy)),
    check: (actual) =>
      mismatch(
        actual,
        read(c.output),
        (i) => (isComplex(compute) && !complexCompared(op, at(i)) ? undefined : tolerance),
        (i) => `${op}(${at(i).map(show).join(', ')}) =`,
      ),
  };
}

describe.each(backends())('ops on %s', (device) => {
  it.each(OP_NAMES)('%s gives what NumPy gives', async (op) => {
    const prepared = cases.filter((c) => c.op === op).map((c) => prepare(op, c));
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});
