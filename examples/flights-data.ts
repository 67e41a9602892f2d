/**
 * Three million flights of the USA in 2001, from the Parquet file in vega-datasets, as typed arrays. Reading
 * is hyparquet's; called by `flights.ts`.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { asyncBufferFromFile, parquetMetadataAsync, parquetRead } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

export interface Flights {
  readonly count: number;
  /** Departure in microseconds since 1970, in local time. */
  readonly date: BigInt64Array;
  /** Minutes late on arrival; negative: early. */
  readonly delay: Int32Array;
  /** Miles. */
  readonly distance: Int32Array;
}

/** The package's exports name no data file: it lies beside the entry point. */
const dataFile = (name: string): string => {
  const entry = createRequire(import.meta.url).resolve('vega-datasets');
  return fileURLToPath(new URL(`../data/${name}`, `file://${entry}`));
};

export async function readFlights(): Promise<Flights> {
  const file = await asyncBufferFromFile(dataFile('flights-3m.parquet'));
  const metadata = await parquetMetadataAsync(file);
  const count = Number(metadata.num_rows);
  const date = new BigInt64Array(count);
  const numbers = { delay: new Int32Array(count), distance: new Int32Array(count) };
  await parquetRead({
    file,
    metadata,
    compressors,
    columns: ['date', 'delay', 'distance'],
    parsers: { timestampFromMicroseconds: (microseconds) => microseconds },
    onChunk: ({ columnName, columnData, rowStart }) => {
      if (columnName === 'date') date.set(columnData as bigint[], rowStart);
      else {
        const column = numbers[columnName as keyof typeof numbers];
        for (let i = 0; i < columnData.length; i++) column[rowStart + i] = Number(columnData[i]);
      }
    },
  });
  return { count, date, ...numbers };
}
