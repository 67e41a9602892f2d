/** The addon that a file's tests ran on was the one that is built for the sanitizer. */
import { readFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';

afterAll(() => {
  expect(readFileSync('/proc/self/maps', 'utf8')).toContain(process.env.WEFT_SANITIZED);
});
