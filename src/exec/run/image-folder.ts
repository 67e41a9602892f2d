/**
 * Device images in a folder: one file each, checked by a digest when read, the least recently used dropped
 * when the folder grows beyond its limit.
 *
 * Never an error: what cannot be read is not there, what cannot be written is not kept, and `problem` says
 * why. Called by `kernel-cache.ts`.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readRegularFile } from './regular-file.js';

const MAGIC = Buffer.from('weft-image-1\n');
const DIGEST_BYTES = 32;
const HEADER_BYTES = MAGIC.length + DIGEST_BYTES;
const SUFFIX = '.image';
/** Files that are neither images nor young are a dead process's. */
const LEFTOVER_MS = 3_600_000;
/** Dropping goes a little below the limit, so that it is rare. */
const DROP_TO = 0.9;

/** The key is part of what is digested: a file under another's name is a broken one. */
function digest(key: string, bytes: Uint8Array): Buffer {
  return createHash('sha256').update(key).update('\n').update(bytes).digest();
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Makes a folder and its parents. Node's `recursive` never returns where the kernel answers ENOENT, as in
 * /proc.
 */
async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const info = await stat(at).catch(() => undefined);
    if (info !== undefined || at === dirname(at)) break;
    missing.push(at);
  }
  for (const folder of missing.reverse()) {
    await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      // Another process was first.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
  }
}

interface Entry {
  readonly path: string;
  readonly byteLength: number;
  readonly usedMs: number;
}

export class ImageFolder {
  readonly path: string;
  readonly #byteLimit: number;
  #checked: Promise<string | undefined> | undefined;
  #problem: string | undefined;
  /** Bytes in the folder, roughly: other processes write too. Unknown before the first write. */
  #byteLength: number | undefined;

  constructor(path: string, byteLimit: number) {
    this.path = path;
    this.#byteLimit = byteLimit;
  }

  /** Why images are not kept, if they are not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Makes the folder, and says why it may not be used: only its owner, who is us, may write to it. */
  async #check(): Promise<string | undefined> {
    if (this.#byteLimit === 0) return 'its limit is 0 bytes';
    try {
      await makeFolder(this.path);
      const info = await stat(this.path);
      if (!info.isDirectory()) return `${this.path} is not a folder`;
      const user = process.getuid?.();
      if (user !== undefined && info.uid !== user) return `${this.path} belongs to another user`;
      if (user !== undefined && (info.mode & 0o022) !== 0) return `${this.path} may be written to by others`;
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /**
   * Whether the folder may be used. Asked once: what goes wrong later shows when a file is read or written.
   */
  async usable(): Promise<boolean> {
    this.#checked ??= this.#check();
    const problem = await this.#checked;
    if (problem !== undefined) this.#problem = problem;
    return problem === undefined;
  }

  /** The images that are kept, and their bytes; none where the folder cannot be read. */
  async size(): Promise<{ readonly images: number; readonly byteLength: number }> {
    const images = (await this.#entries().catch(() => [])).filter(({ path }) => path.endsWith(SUFFIX));
    return { images: images.length, byteLength: images.reduce((sum, image) => sum + image.byteLength, 0) };
  }

  fileOf(key: string): string {
    return join(this.path, `${key}${SUFFIX}`);
  }

  lockOf(key: string): string {
    return join(this.path, `${key}.lock`);
  }

  /**
   * The image of a key, if it is there and whole. A broken file is removed, and what is no regular file
   * passed over.
   */
  async read(key: string): Promise<Uint8Array | undefined> {
    const path = this.fileOf(key);
    const file = (await readRegularFile(path).catch(() => undefined))?.bytes;
    if (file === undefined) return undefined;
    const bytes = file.subarray(HEADER_BYTES);
    const whole =
      file.length > HEADER_BYTES &&
      file.subarray(0, MAGIC.length).equals(MAGIC) &&
      file.subarray(MAGIC.length, HEADER_BYTES).equals(digest(key, bytes));
    if (!whole) {
      await unlink(path).catch(() => undefined);
      return undefined;
    }
    const now = new Date();
    // The time of the last use; a folder that may only be read keeps its files all the same.
    await utimes(path, now, now).catch(() => undefined);
    return bytes;
  }

  /** Keeps an image. A reader sees the whole file or none. */
  async write(key: string, bytes: Uint8Array): Promise<void> {
    const temporary = join(this.path, `${key}.${randomUUID()}.tmp`);
    try {
      await writeFile(temporary, [MAGIC, digest(key, bytes), bytes], { flag: 'wx', mode: 0o600 });
      await rename(temporary, this.fileOf(key));
      await this.#account(HEADER_BYTES + bytes.length);
      this.#problem = undefined;
    } catch (error) {
      this.#problem = messageOf(error);
      await unlink(temporary).catch(() => undefined);
      // The folder may have been removed: it is made again for the next image.
      this.#checked = undefined;
    }
  }

  async #account(added: number): Promise<void> {
    this.#byteLength = this.#byteLength === undefined ? await this.#shrink() : this.#byteLength + added;
    if (this.#byteLength > this.#byteLimit) this.#byteLength = await this.#shrink();
  }

  /**
   * Drops the least recently used images while there are too many bytes, and leftovers; gives the bytes left.
   */
  async #shrink(): Promise<number> {
    const entries = await this.#entries();
    let total = entries.reduce((sum, entry) => sum + entry.byteLength, 0);
    const goal = total > this.#byteLimit ? this.#byteLimit * DROP_TO : this.#byteLimit;
    for (const entry of entries.sort((a, b) => a.usedMs - b.usedMs)) {
      const leftover = !entry.path.endsWith(SUFFIX) && Date.now() - entry.usedMs > LEFTOVER_MS;
      if (!leftover && (total <= goal || !entry.path.endsWith(SUFFIX))) continue;
      await unlink(entry.path).catch(() => undefined);
      total -= entry.byteLength;
    }
    return total;
  }

  async #entries(): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const name of await readdir(this.path)) {
      const path = join(this.path, name);
      // Another process may remove it meanwhile.
      const info = await stat(path).catch(() => undefined);
      if (info?.isFile()) entries.push({ path, byteLength: info.size, usedMs: info.mtimeMs });
    }
    return entries;
  }
}
