/** The targets by kind of device. */
import { CPU_TARGET } from './cpu.js';
import { CUDA_TARGET } from './cuda.js';
import type { Device, TargetKind } from './device.js';
import type { Target } from './target.js';

const TARGETS: Readonly<Record<TargetKind, Target>> = { cpu: CPU_TARGET, cuda: CUDA_TARGET };

export const targetOf = ({ kind }: Device): Target => TARGETS[kind];
