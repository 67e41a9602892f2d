/** CUDA's headers for kernels of users' own: `#include <cuda_fp16.h>`. NVRTC itself has none of them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A header that each of CUDA's folders of headers has. */
const HEADER = 'cuda_fp16.h';

/** Folders of headers beside a library, as toolkits and Python's wheels lay them out, and CUDA's own. */
const PLACES = ['../include', '../../include', '../../../include', '../../cuda_runtime/include'];
const TOOLKIT = '/usr/local/cuda/include';

/** The folder of the headers that belong to an NVRTC; undefined: there is none. */
export function headerFolder(
  nvrtc: string,
  exists: (path: string) => boolean = existsSync,
): string | undefined {
  const beside = PLACES.map((place) => join(dirname(nvrtc), place));
  return [...beside, TOOLKIT].find((folder) => exists(join(folder, HEADER)));
}
