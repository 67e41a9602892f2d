/** Versions of CUDA's libraries, as text: `12.4`. */

export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [its = 0, point = 0] = version.split('.').map(Number);
  return its > major || (its === major && point >= minor);
}
