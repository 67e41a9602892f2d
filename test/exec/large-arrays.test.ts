/** A result of more bytes than Node 20 makes an ArrayBuffer over, where the machine has the memory. */
import { freemem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { endingOf, LIBRARY } from '../support/ending.js';

/** Of int32; 4 GiB and 16 bytes. */
const COUNT = 2 ** 30 + 4;
const NEEDED = 12 * 2 ** 30;
const isEnough = freemem() >= NEEDED;
const why = isEnough ? '' : ` (skipped: less than ${NEEDED} bytes of memory are free)`;

describe('a result of more than 4 GiB', () => {
  it.runIf(isEnough)(`is read, printed and computed with${why}`, { timeout: 120_000 }, async () => {
    const script = `
      import { full, lazy } from ${JSON.stringify(LIBRARY)};
      const x = await full([${COUNT}], 3, 'int32').compute({ device: 'cpu' });
      const sum = await lazy(x).slice([-5]).sum().compute({ device: 'cpu' });
      console.log(x.data.length, x.data[${COUNT - 1}], x.at(-1), String(x), String(sum));`;
    const { code, output } = await endingOf(script, { module: true });
    expect([code, output.trim()]).toEqual([0, `${COUNT} 3 3 [3 3 3 ... 3 3 3] 15`]);
  });
});
