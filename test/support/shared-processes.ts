/**
 * The processes that test files run in. One process runs many files, so that Weft's modules are read once instead of
 * 286 times, 0.8 s each; a file that changes or measures state of the whole process has one to itself. Used by
 * `vitest.config.ts`, whose projects have to set `isolate: false` for it.
 */
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  BaseSequencer,
  ForksPoolWorker,
  type PoolOptions,
  type PoolRunnerInitializer,
  type PoolTask,
  type PoolWorker,
  type TestSpecification,
  type WorkerRequest,
  type WorkerResponse,
} from 'vitest/node';

/** Signs of state of the whole process: its environment, modules, events, memory, engine and simulated devices. */
const PROCESS_STATE = [
  /\bprocess\.env(\.\w+)? *=(?!=)/,
  /\bprocess\.(on|once|chdir)\(/,
  /\bvi\.(doMock|hoisted|mock|resetModules|spyOn|stub\w+)\b/,
  /\b(configureCpu|nativeWith|setDevices|setFlagsFromString)\(/,
  /(?<!\.)\b(memory|trim)\(/,
  /from '(\.\.?\/)+(sim\/)?simulator\.js'/,
];

const found = new Map<string, boolean>();

/** Whether a test file has to run in a process of its own. */
export function needsOwnProcess(path: string): boolean {
  const known = found.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(path, 'utf8');
  const isFound = /\/test\/sim\//.test(path) || PROCESS_STATE.some((sign) => sign.test(text));
  found.set(path, isFound);
  return isFound;
}

/** Files that need a process of their own first, so that processes are shared by all others without a break. */
export class OwnProcessesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isOwn = ({ moduleId }: TestSpecification): boolean => needsOwnProcess(moduleId);
    return [...sorted.filter(isOwn), ...sorted.filter((file) => !isOwn(file))];
  }
}

const POOL = 'shared-processes';

type FilesRequest = Extract<WorkerRequest, { type: 'run' | 'collect' }>;

/**
 * One process at a time. Where there is one worker, Vitest gives it all files of a project in a single request, which
 * this parts: a file that needs a process of its own runs in one, and the others follow in another.
 */
class SharedProcess implements PoolWorker {
  readonly name = POOL;
  readonly cacheFs = true;
  readonly #options: PoolOptions;
  readonly #events = new EventEmitter();
  #process: ForksPoolWorker;
  #start: WorkerRequest | undefined;
  #parts: FilesRequest[] = [];
  #isTaken = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#process = new ForksPoolWorker(options);
    options.project.vitest.onCancel(() => {
      this.#parts = [];
    });
  }

  on(event: string, callback: (value: unknown) => void): void {
    this.#events.on(event, callback);
  }

  off(event: string, callback: (value: unknown) => void): void {
    this.#events.off(event, callback);
  }

  deserialize(data: unknown): unknown {
    return data;
  }

  async start(): Promise<void> {
    await this.#process.start();
    this.#listen();
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }

  send(message: WorkerRequest): void {
    if (message.type === 'start') this.#start = message;
    if (message.type !== 'run' && message.type !== 'collect') this.#process.send(message);
    else {
      this.#parts = partsOf(message);
      this.#runNext();
    }
  }

  canReuse(task: PoolTask): boolean {
    return !this.#isTaken && !task.context.files.some(isOwn);
  }

  #runNext(): void {
    const part = this.#parts.shift()!;
    this.#isTaken = part.context.files.some(isOwn);
    this.#process.send(part);
  }

  #listen(): void {
    this.#process.on('message', this.#receive);
    this.#process.on('error', this.#fail);
    this.#process.on('exit', this.#exit);
  }

  readonly #receive = (message: WorkerResponse | undefined): void => {
    const isDone = message?.type === 'testfileFinished' && message.error === undefined;
    if (isDone && this.#parts.length > 0) {
      this.#renew().then(() => {
        this.#runNext();
      }, this.#fail);
    } else this.#events.emit('message', message);
  };
  readonly #fail = (error: unknown): void => void this.#events.emit('error', error);
  readonly #exit = (): void => void this.#events.emit('exit');

  /** Takes a new process in the place of this one. */
  async #renew(): Promise<void> {
    const ended = this.#process;
    await answer(ended, { type: 'stop', __vitest_worker_request__: true }, 'stopped');
    ended.off('message', this.#receive);
    ended.off('exit', this.#exit);
    const next = new ForksPoolWorker(this.#options);
    await next.start();
    this.#process = next;
    await ended.stop();
    this.#listen();
    await answer(next, this.#start!, 'started');
  }
}

/** Sends a request to a process, and waits for the response. */
function answer(process: PoolWorker, request: WorkerRequest, type: WorkerResponse['type']): Promise<void> {
  return new Promise((resolve, reject) => {
    const listen = (message: WorkerResponse | undefined): void => {
      if (message?.type !== type) return;
      process.off('message', listen);
      if (message.error === undefined) resolve();
      else reject(message.error);
    };
    process.on('message', listen);
    process.send(request);
  });
}

/** Requests for the files of one that share a process, those of files that need their own first. */
function partsOf(request: FilesRequest): FilesRequest[] {
  const { files } = request.context;
  const shared = files.filter((file) => !isOwn(file));
  const parts = [...files.filter(isOwn).map((file) => [file]), ...(shared.length === 0 ? [] : [shared])];
  return parts.map((part) => ({ ...request, context: { ...request.context, files: part } }));
}

const isOwn = ({ filepath }: { readonly filepath: string }): boolean => needsOwnProcess(filepath);

export const sharedProcesses: PoolRunnerInitializer = {
  name: POOL,
  createPoolWorker: (options) => new SharedProcess(options),
};
