// Arrow, DuckDB and Polars themselves: what is computed with their columns, in which memory, and back.
import assert from 'node:assert/strict';
import test from 'node:test';
import * as duckdb from '@duckdb/node-api';
import * as arrow from 'apache-arrow';
import polars from 'nodejs-polars';
import { fromArrow, fromDuckDB, toArrow, toDuckDB, where } from '../dist/src/index.js';

const device = 'cpu';
const values = async (x) => (await x.compute({ device })).toArray();

test('DuckDB: columns are read where they lie', async () => {
  const connection = await (await duckdb.DuckDBInstance.create(':memory:')).connect();
  const sql = `select i::double as x, i::integer as k, i::bigint as l, i % 2 = 0 as b, (i % 200)::utinyint as u,
    date '1970-01-02' as day, make_timestamp(i::bigint) as at from range(5000) t(i)`;
  const { x, k, l, b, u, day, at } = await fromDuckDB(await connection.run(sql));
  assert.deepEqual(
    [x.dtype, k.dtype, l.dtype, b.dtype, u.dtype],
    ['float64', 'int32', 'int64', 'bool', 'uint8'],
  );
  assert.equal(x.expr.source.chunks.length, 3);
  assert.equal(await values(x.add(k).sum()), 4999 * 5000);
  assert.equal(await values(b.sum()), 2500n);
  assert.equal(await values(l.slice(4999)), 4999n);
  assert.equal(await values(u.max()), 199);
  assert.deepEqual([await values(day.max()), await values(at.max())], [1, 4999n]);
});

test('DuckDB: missing values are refused, replaced, or told by a mask', async () => {
  const connection = await (await duckdb.DuckDBInstance.create(':memory:')).connect();
  const run = () =>
    connection.run('select case when i % 3 = 0 then null else i::float end as x from range(5000) t(i)');
  await assert.rejects(async () => fromDuckDB(await run()), /no missing values in x: 1667/);
  const { x } = await fromDuckDB(await run(), { nulls: -1 });
  assert.deepEqual(await values(x.slice([4995, 5000])), [-1, 4996, 4997, -1, 4999]);
  const masked = (await fromDuckDB(await run(), { nulls: 'mask' })).x;
  assert.equal(await values(masked.valid.sum()), 3333n);
  assert.equal(
    await values(where(masked.valid, masked.values, 0).sum()),
    (5000 * 4999) / 2 - (3 * 1666 * 1667) / 2,
  );
  await assert.rejects(
    async () => fromDuckDB(await connection.run("select 'a' as s")),
    /numbers or booleans in s: VARCHAR/,
  );
});

test('DuckDB: columns go into a table', async () => {
  const connection = await (await duckdb.DuckDBInstance.create(':memory:')).connect();
  await connection.run('create table t (x double, isLarge boolean, n bigint)');
  const x = Float64Array.from({ length: 5000 }, (_, k) => k);
  const isLarge = Uint8Array.from({ length: 5000 }, (_, k) => Number(k > 4000));
  const appender = await connection.createAppender('t');
  const { lazy } = await import('../dist/src/index.js');
  const columns = { x, isLarge: lazy(isLarge, { dtype: 'bool' }), n: lazy(x).astype('int64') };
  for (const chunk of await toDuckDB(columns, duckdb)) appender.appendDataChunk(chunk);
  appender.closeSync();
  const reader = await connection.runAndReadAll('select sum(x), sum(isLarge::int), max(n) from t');
  assert.deepEqual(reader.getRows()[0].map(Number), [4999 * 2500, 999, 4999]);
});

test('Arrow: tables go both ways without copies of numbers', async () => {
  const x = new Float32Array([1, 2, 3]);
  const table = arrow.tableFromArrays({ x, n: new BigInt64Array([1n, 2n, 3n]) });
  const columns = fromArrow(table);
  assert.equal(columns.x.expr.source.chunks[0].buffer, table.getChild('x').data[0].values.buffer);
  const sum = await columns.x.add(columns.n).compute({ device });
  const back = await toArrow({ sum, isLarge: columns.x.greater(1) }, arrow);
  assert.equal(back.getChild('sum').data[0].values.buffer, sum.data.buffer);
  assert.deepEqual(
    back.toArray().map((row) => row.toJSON()),
    [
      { sum: 2, isLarge: false },
      { sum: 4, isLarge: true },
      { sum: 6, isLarge: true },
    ],
  );
});

test('Polars: frames go both ways by Arrow', async () => {
  const frame = polars.DataFrame({ x: [1.5, 2, 3], k: [1, 2, null], b: [true, false, true] });
  const bytes = frame.writeIPC({ compression: 'uncompressed' });
  const { x, k, b } = fromArrow(arrow.tableFromIPC(bytes), { nulls: 0 });
  assert.equal(x.expr.source.chunks[0].buffer, bytes.buffer);
  assert.deepEqual(
    [await values(x.add(k)), await values(b)],
    [
      [2.5, 4, 3],
      [true, false, true],
    ],
  );
  const table = await toArrow({ twice: x.mul(2), b }, arrow);
  const back = polars.readIPC(Buffer.from(arrow.tableToIPC(table, 'file')));
  assert.deepEqual(back.toObject(), { twice: [3, 4, 6], b: [true, false, true] });
});
