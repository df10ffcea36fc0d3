import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../src/cli/config/config.ts';
import { loadPolicy } from '../src/policy/load.ts';
import { guides, readDocument, root, snippetsOf, type Snippet } from './support/documents.ts';
import { Service } from './support/service.ts';

const isRun = ({ notRun }: Snippet) => notRun === undefined;
const programs = ['ts', 'js'];

const all = guides().flatMap(snippetsOf);

describe('every snippet of the guides', () => {
  it('names a language that is run, loaded or shown', () => {
    // Python is run by `npm run test:engines`.
    const known = ['', 'sh', 'yaml', 'csv', 'json', 'python', ...programs];
    expect(all.filter(({ language }) => !known.includes(language))).toEqual([]);
  });

  it('is no command without a language', () => {
    const commands = all.filter(
      ({ language, text }) => language === '' && /^(arrowgate|curl|npm|node|docker) /.test(text),
    );
    expect(commands.map(({ place }) => place)).toEqual([]);
  });
});

const withPrograms = guides()
  .map((path) => ({
    path,
    snippets: snippetsOf(path).filter(
      (snippet) => isRun(snippet) && ['sh', ...programs].includes(snippet.language),
    ),
  }))
  .filter(({ snippets }) => snippets.length > 0);

describe.each(withPrograms)('the commands of $path', ({ snippets }) => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start({ adminKey: false });
    await prepare(service);
  });

  afterAll(async () => {
    await service.stop();
  });

  // In the order of the document: a later snippet uses the variables and tables of an earlier one.
  it.each(snippets)('$place', async (snippet) => {
    const { code, out, err } = await run(service, snippet);
    expect({ code, err: code === 0 ? '' : err + out }).toEqual({ code: 0, err: '' });
    for (const line of answersIn(snippet)) expect(out).toContain(line);
  });
});

describe('the settings of the guides', () => {
  const settings = all.filter(({ language }) => ['yaml', 'csv'].includes(language));

  it.each(settings.filter(isRun))('$place', async (snippet) => {
    await load(snippet);
  });
});

describe('the harness', () => {
  it('finds a mistake in settings', async () => {
    const wrong = { place: '', notRun: undefined };
    await expect(
      load({ ...wrong, language: 'yaml', text: 'cache: { byte: 1MiB }' }),
    ).rejects.toThrow('byte');
    await expect(
      load({ ...wrong, language: 'csv', text: 'p, role:a, /**, reed, allow' }),
    ).rejects.toThrow('reed');
  });
});

/** Makes the folder of a service look like a clone, with `arrowgate` on the path. */
async function prepare({ folder }: Service): Promise<void> {
  for (const name of ['dist', 'examples', 'deploy', 'package.json']) {
    await symlink(join(root, name), join(folder, name));
  }
  await mkdir(join(folder, 'node_modules'));
  for (const name of await readdir(join(root, 'node_modules'))) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  await symlink(root, join(folder, 'node_modules', 'arrowgate'));
  await cp(join(folder, 'policies'), join(folder, 'proposed'), { recursive: true });
  await mkdir(join(folder, 'bin'));
  const command = join(folder, 'bin', 'arrowgate');
  await writeFile(
    command,
    `#!/bin/sh\nexec "${process.execPath}" "${root}/dist/cli/main.js" "$@"\n`,
  );
  await chmod(command, 0o755);
}

interface Ran {
  readonly code: unknown;
  readonly out: string;
  readonly err: string;
}

async function run(service: Service, { language, text }: Snippet): Promise<Ran> {
  const here = text
    .replaceAll('http://127.0.0.1:2333', service.url)
    .replaceAll(/^ARROWGATE_KEY=/gm, `ARROWGATE_URL=${service.url} ARROWGATE_KEY=`);
  if (!programs.includes(language))
    return shell(service, here.replaceAll(/^npm start\b.*$/gm, ':'));
  await writeFile(join(service.folder, `snippet.m${language}`), here);
  return shell(service, `node --import tsx ./snippet.m${language}`);
}

/** Runs lines in a shell that knows the variables of the lines before. */
async function shell(service: Service, text: string): Promise<Ran> {
  const script = `set -ea\n[ ! -f .variables ] || . ./.variables\n${text}\nexport -p > .variables\n`;
  const child = spawn('bash', ['-c', script], {
    cwd: service.folder,
    env: {
      ...process.env,
      PATH: `${join(service.folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  const [code] = await once(child, 'close');
  return { code, ...said };
}

/** The answers that a snippet shows as comments, up to what differs each time. */
function answersIn({ text }: Snippet): readonly string[] {
  return [...text.matchAll(/^# (\{.*)$/gm)].map(
    ([, answer = '']) => answer.split(',"instance"')[0] ?? '',
  );
}

/** Loads settings with the parser of the program. @throws what the program would refuse them with */
async function load({ place, language, text }: Snippet): Promise<void> {
  const file = language === 'csv' ? 'policy.csv' : policyFileOf(text);
  if (file === undefined) parseConfig(place, text);
  else await loadFolder(file, `${text}\n`);
}

/** The file of a policy folder that a snippet is; undefined for a configuration. */
function policyFileOf(text: string): string | undefined {
  const [, key = '', ahead = ''] = /^(\w+):[^\n]*\n( *-?)/m.exec(text) ?? [];
  if (!ahead.endsWith('-')) return undefined;
  return {
    rules: 'commits.yaml',
    limits: 'limits.yaml',
    issuers: 'issuers.yaml',
    cases: 'cases.yaml',
    restrictions: 'restrictions.yaml',
  }[key];
}

async function loadFolder(file: string, text: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-snippet-'));
  try {
    const conditions = file === 'policy.csv' && /, *(allow|deny), *\S/.test(text);
    const from = conditions ? 'examples/conditions/model.conf' : 'policies/model.conf';
    await writeFile(join(folder, 'model.conf'), readDocument(from));
    await writeFile(join(folder, 'policy.csv'), await readFile(join(root, 'policies/policy.csv')));
    await writeFile(join(folder, file), text);
    await loadPolicy(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
