import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../service/http.ts';
import { goodRows } from '../service/table-bodies.ts';
import { capture } from '../support/captured-program.ts';
import { root } from '../support/documents.ts';
import { InstalledPackage } from '../support/installed-package.ts';

const KEY = 'an-administrator-key-for-tests';
/** Documents for those who change the project: they are read where it is developed. */
const DEVELOPERS = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'bench/',
  'docs/design/',
  'docs/performance.md',
];

let installed: InstalledPackage;

beforeAll(async () => {
  installed = await InstalledPackage.make(['express', 'fastify', '@types/node', 'undici-types']);
  await cp(join(installed.place, 'policies'), join(installed.folder, 'policies'), {
    recursive: true,
  });
});

afterAll(() => installed.remove());

/** Creates a table and counts its rows with the key, and is refused without. */
async function useTable(url: string): Promise<void> {
  const key = { 'x-api-key': KEY };
  const name = `t${Math.random().toString(36).slice(2)}`;
  const created = await send(url, `POST /v1/table/${name}/create`, {
    headers: key,
    body: goodRows,
  });
  expect(created.status).toBe(200);
  const line = `POST /v1/table/${name}/count_rows`;
  const counted = await send(url, line, { headers: key, body: '{}' });
  expect([counted.status, counted.text]).toEqual([200, '3']);
  expect((await send(url, line, { key: null, body: '{}' })).status).toBe(401);
}

describe('the package', () => {
  it('is small, and holds neither sources nor source maps', () => {
    const bytes = installed.files.reduce((sum, { size }) => sum + size, 0);
    expect(bytes).toBeLessThan(5_000_000);
    const paths = installed.files.map(({ path }) => path);
    expect(paths.length).toBeLessThan(500);
    expect(paths.filter((path) => /\.map$|^(src|test|scripts|bench)\//.test(path))).toEqual([]);
  });

  it('runs no script when it is installed', () => {
    const lifecycle = ['preinstall', 'install', 'postinstall', 'prepare'];
    expect(
      Object.keys(installed.manifest.scripts).filter((name) => lifecycle.includes(name)),
    ).toEqual([]);
    expect(existsSync(join(installed.place, 'binding.gyp'))).toBe(false);
  });

  it('holds every program that is built', () => {
    const built = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' });
    const programs = built
      .filter((name) => name.endsWith('.program.js'))
      .flatMap((name) => [name, name.replace('.program.js', '.js')]);
    expect(programs.length).toBeGreaterThan(2);
    expect(programs.filter((name) => !existsSync(join(installed.place, 'dist', name)))).toEqual([]);
  });

  it('holds the documents, examples and files that its documents name', async () => {
    const documents = installed.files
      .map(({ path }) => path)
      .filter((path) => path.endsWith('.md'));
    expect(documents).toEqual(expect.arrayContaining(['README.md', 'docs/guide/start.md']));
    const dangling: string[] = [];
    for (const path of documents) {
      const text = await readFile(join(installed.place, path), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const named = normalize(join(dirname(path), target));
        if (DEVELOPERS.some((each) => named.startsWith(each))) continue;
        if (!existsSync(join(installed.place, named))) dangling.push(`${path}: ${target}`);
      }
    }
    expect(dangling).toEqual([]);
  });

  it('names the licenses of the packages that are joined into it', async () => {
    const text = await readFile(join(installed.place, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const name of ['apache-arrow', 'casbin', 'jose', 'undici', 'yaml']) {
      expect(text).toMatch(new RegExp(`(^|, )${name} \\d`, 'm'));
    }
  });
});

describe('a program that installed the package', () => {
  it('serves from the command line', async () => {
    const version = spawnSync(installed.program, ['--version'], { encoding: 'utf8' });
    expect(version.stdout.trim()).toBe(installed.manifest.version);
    await capture([installed.program, 'serve', '--port', '0', '--admin-key', KEY], {
      cwd: installed.folder,
      env: {},
      work: useTable,
    });
    const records = spawnSync(installed.program, ['audit', 'verify'], {
      cwd: installed.folder,
      encoding: 'utf8',
    });
    expect([records.status, records.stderr]).toEqual([0, '']);
  });

  it.each([
    [
      'Express',
      `import express from 'express';
       const app = express();
       app.use(gateway.middleware);
       const server = app.listen(0, '127.0.0.1', ready);`,
    ],
    [
      'Fastify',
      `import fastify from 'fastify';
       const app = fastify();
       await app.register(gateway.fastify);
       await app.listen({ host: '127.0.0.1', port: 0 });
       const { server } = app;
       ready();`,
    ],
  ])('serves in %s', async (name, host) => {
    const imports = /^import .*$/m.exec(host)![0];
    await installed.write(
      `${name}.js`,
      `import { createGateway } from 'arrowgate';
       ${imports}
       const gateway = await createGateway({
         config: { data: './data-${name}', policies: './policies', log: { level: 'silent' } },
         adminKey: '${KEY}',
       });
       function ready() {
         setImmediate(() => {
           const url = 'http://127.0.0.1:' + server.address().port;
           console.log(JSON.stringify({ url }));
         });
       }
       ${host.replace(imports, '')}
       process.on('SIGTERM', async () => {
         server.closeAllConnections();
         server.close();
         await gateway.close();
       });`,
    );
    await capture([`${name}.js`], { cwd: installed.folder, env: {}, work: useTable });
  });

  it('tells the errors of a start apart', async () => {
    await installed.write(
      'refused.js',
      `import { ConfigError, createGateway, errorTable, PolicyError } from 'arrowgate';
       const why = (config) => createGateway({ config }).catch((error) => error);
       const config = await why({ cache: { byte: 1 } });
       const policy = await why({ data: './data-none', policies: './nowhere' });
       console.log(JSON.stringify({
         kinds: [config instanceof ConfigError, policy instanceof PolicyError],
         names: [config.name, policy.name],
         codes: errorTable.length,
       }));`,
    );
    expect(JSON.parse(installed.run(process.execPath, ['refused.js']))).toEqual({
      kinds: [true, true],
      names: ['ConfigError', 'PolicyError'],
      codes: 24,
    });
  });

  it('has types for the gateway, its configuration and its errors', async () => {
    await installed.write(
      'typed.ts',
      `import { createServer } from 'node:http';
       import { CatalogError, ConfigError, createGateway, type GatewayConfig } from 'arrowgate';

       const config: GatewayConfig = {
         data: './data',
         cache: { bytes: '64MiB' },
         audit: { durable: 'all', signing_key: null },
         lance: { rules: { time: 30_000 } },
         backends: [{ name: 'embedded', type: 'embedded', namespaces: ['/**'] }],
         trusted_proxies: ['127.0.0.1'],
       };
       // @ts-expect-error: no key of the configuration
       export const unknown: GatewayConfig = { cache: { byte: 1 } };
       // @ts-expect-error: none of the values
       export const wrong: GatewayConfig = { audit: { durable: 'some' } };

       try {
         const gateway = await createGateway({ config });
         createServer(gateway.listener);
         await gateway.close();
       } catch (error) {
         if (error instanceof CatalogError) console.log(error.row.code satisfies number);
         if (error instanceof ConfigError) console.log(error.message);
       }`,
    );
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
    ];
    installed.run(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...flags,
      '--ignoreConfig',
      'typed.ts',
    ]);
  });
});
