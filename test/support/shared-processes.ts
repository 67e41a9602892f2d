/**
 * The processes that test files run in. One process runs many files, so that Weft's modules are read once instead of
 * 286 times, 0.8 s each; a file that changes or measures state of the whole process has one to itself. Used by
 * `vitest.config.ts`, whose projects have to set `isolate: false` for it.
 */
import { readFileSync } from 'node:fs';
import {
  BaseSequencer,
  ForksPoolWorker,
  type PoolRunnerInitializer,
  type PoolTask,
  type TestSpecification,
  type WorkerRequest,
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

class SharedProcess extends ForksPoolWorker {
  override readonly name = POOL;
  #isTaken = false;

  override send(message: WorkerRequest): void {
    const isRun = message.type === 'run' || message.type === 'collect';
    if (isRun && filesOf(message.context).some(needsOwnProcess)) this.#isTaken = true;
    super.send(message);
  }

  canReuse(task: PoolTask): boolean {
    return !this.#isTaken && !filesOf(task.context).some(needsOwnProcess);
  }
}

const filesOf = ({ files }: { readonly files: readonly { readonly filepath: string }[] }): string[] =>
  files.map(({ filepath }) => filepath);

export const sharedProcesses: PoolRunnerInitializer = {
  name: POOL,
  createPoolWorker: (options) => new SharedProcess(options),
};
