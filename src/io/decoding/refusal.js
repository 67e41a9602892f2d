/**
 * Bytes that are not what their format says: thrown in a decoding thread, a FileError where the reader is
 * called (`decoder.ts`).
 */
export class Refusal extends Error {
  /**
   * @param {string} what that was expected
   * @param {string} received
   * @param {{ code?: 'ERR_FILE_FORMAT' | 'ERR_FILE_CHECKSUM', name?: string }} [about] `name`: of the file in its folder
   */
  constructor(what, received, { code = 'ERR_FILE_FORMAT', name } = {}) {
    super(`expected ${what}: ${received}`);
    this.what = what;
    this.received = received;
    this.code = code;
    this.fileName = name;
  }
}

/**
 * @param {string} what
 * @param {string} received
 * @param {{ code?: 'ERR_FILE_FORMAT' | 'ERR_FILE_CHECKSUM', name?: string }} [about]
 * @returns {never}
 */
export function refuse(what, received, about) {
  throw new Refusal(what, received, about);
}

/** An optional package that is needed and not installed. */
export class MissingPackage extends Error {
  /** @param {string} packageName */
  constructor(packageName) {
    super(packageName);
    this.packageName = packageName;
  }
}

/** Memory that the system did not give. */
export class OutOfMemory extends Error {
  /** @param {number} byteLength */
  constructor(byteLength) {
    super(`${byteLength} bytes`);
    this.byteLength = byteLength;
  }
}

/**
 * Zeroed memory for elements. Throws OutOfMemory where there is none.
 * @param {number} byteLength
 */
export function allocate(byteLength) {
  try {
    return new ArrayBuffer(byteLength);
  } catch {
    throw new OutOfMemory(byteLength);
  }
}
