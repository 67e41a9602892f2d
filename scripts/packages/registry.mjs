/** A registry of archives on this machine, for the scope of the platforms' packages. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** The `package.json` of an archive: a header of 512 bytes with the name and the size in octal, then the file. */
function manifestOf(archive) {
  const tar = gunzipSync(archive);
  for (let at = 0; at + 512 <= tar.length; ) {
    const name = tar.toString('latin1', at, tar.indexOf(0, at));
    const byteLength = Number.parseInt(tar.toString('latin1', at + 124, at + 136), 8);
    const start = at + 512;
    if (name === 'package/package.json') return JSON.parse(tar.toString('utf8', start, start + byteLength));
    at = start + Math.ceil(byteLength / 512) * 512;
  }
  throw new Error('an archive without package.json');
}

/** The archives in a folder: their manifests and bytes by file name. */
export function readArchives(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  return new Map(
    files.map((file) => {
      const bytes = readFileSync(join(folder, file));
      return [file, { path: join(folder, file), bytes, manifest: manifestOf(bytes) }];
    }),
  );
}

function metadata(archives, name, origin) {
  const versions = {};
  for (const [file, { bytes, manifest }] of archives) {
    if (manifest.name !== name) continue;
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const shasum = createHash('sha1').update(bytes).digest('hex');
    const dist = { tarball: `${origin}/-/${file}`, integrity, shasum };
    versions[manifest.version] = { ...manifest, dist };
  }
  const [latest] = Object.keys(versions);
  return latest === undefined ? undefined : { name, 'dist-tags': { latest }, versions };
}

/** Serves archives until `close()`. `origin` is its address. */
export async function serveArchives(archives) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url.slice(1));
    const origin = `http://${request.headers.host}`;
    const bytes = archives.get(path.replace(/^-\//, ''))?.bytes;
    const found = bytes === undefined ? metadata(archives, path, origin) : undefined;
    if (found !== undefined) response.setHeader('content-type', 'application/json');
    else if (bytes === undefined) response.statusCode = 404;
    response.end(bytes ?? JSON.stringify(found ?? { error: 'not found' }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
