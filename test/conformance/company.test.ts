/**
 * Property: a result has the bits that it has alone, whatever is computed with it. Random programs of a few results that
 * share parts (`random-company.ts`), and others that are aimed at sums. `WEFT_COMPANY` says how many of each,
 * `WEFT_COMPANY_SEED` the first:
 *
 *     WEFT_COMPANY=5000 npx vitest run --project all test/conformance/company.test.ts
 */
import { describe, expect, it } from 'vitest';
import { backends, isSimulated } from '../support/backends.js';
import { companyOf, differencesIn } from '../support/random-company.js';

const { WEFT_COMPANY, WEFT_COMPANY_SEED } = process.env;
const FIRST = Number(WEFT_COMPANY_SEED ?? 20_261_126);
/** The simulated GPU compiles each kernel for a second. */
const runsOn = (device: string, isHarsh: boolean): number =>
  Number(WEFT_COMPANY ?? (isSimulated(device) ? (isHarsh ? 2 : 4) : isHarsh ? 70 : 80));

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'results on %s',
  (device) => {
    it.each([
      ['ordinary', false],
      ['sums', true],
    ])(
      `have the bits that they have alone, of programs of %s from seed ${FIRST}`,
      async (_, isHarsh) => {
        const differences: string[] = [];
        for (let seed = FIRST; seed < FIRST + runsOn(device, isHarsh); seed++)
          for (const text of await differencesIn(companyOf(seed, isHarsh), device))
            differences.push(`seed ${seed}: ${text}`);
        expect(differences).toEqual([]);
      },
      3_600_000,
    );
  },
);
