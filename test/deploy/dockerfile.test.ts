import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser } from 'dockerfile-ast';
import { validate, ValidationSeverity } from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { root } from '../support/documents.ts';

const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');

/** Findings of the linter, a line each. */
function findings(dockerfile: string): readonly string[] {
  const severity = ValidationSeverity.WARNING;
  const all = validate(dockerfile, {
    directiveCasing: severity,
    deprecatedMaintainer: severity,
    emptyContinuationLine: severity,
    instructionCasing: severity,
    instructionCmdMultiple: severity,
    instructionEntrypointMultiple: severity,
    instructionHealthcheckMultiple: severity,
    instructionJSONInSingleQuotes: severity,
    instructionWorkdirRelative: severity,
  });
  return all.map(({ range, message }) => {
    const said = typeof message === 'string' ? message : JSON.stringify(message);
    return `${range.start.line + 1}: ${said}`;
  });
}

interface Words {
  readonly keyword: string;
  readonly words: readonly string[];
}

/** Rules beside those of the linter: what is wrong with the instructions of a Dockerfile. */
function broken(dockerfile: string): readonly string[] {
  const all: readonly Words[] = DockerfileParser.parse(dockerfile)
    .getInstructions()
    .map((each) => ({
      keyword: each.getKeyword(),
      words: each.getArguments().map((argument) => argument.getValue()),
    }));
  const of = (keyword: string) => all.filter((each) => each.keyword === keyword);
  const bases = of('FROM').map(({ words: [base = ''] }) => base);
  const [user = ''] = of('USER').at(-1)?.words ?? [];
  const runs = of('RUN').map(({ words }) => words.join(' '));
  const exec = [...of('ENTRYPOINT'), ...of('CMD')];
  return [
    ...bases.filter((base) => !/:.+-slim$/.test(base)).map((base) => `${base} is not a slim tag`),
    ...(bases.length > 1 ? [] : ['the image has the tools of its build']),
    ...(/^[1-9]\d*(:[1-9]\d*)?$/.test(user) ? [] : [`the user ${user} is not a number above 0`]),
    ...of('ADD').map(() => 'ADD fetches and unpacks: use COPY'),
    ...(of('HEALTHCHECK').length > 0 ? [] : ['there is no health check']),
    ...exec
      .filter(({ words }) => !words[0]?.startsWith('['))
      .map(({ keyword }) => `${keyword} runs a shell`),
    ...runs.filter((run) => /\b(sudo|curl|wget|apt-get upgrade)\b/.test(run)),
    ...of('ENV').flatMap(({ words }) =>
      words.filter((word) => /(key|secret|token|passw)/i.test(word)),
    ),
  ];
}

describe('the Dockerfile', () => {
  it('has no finding of a linter', () => {
    expect(findings(text)).toEqual([]);
  });

  it('makes a small image that does not run as root', () => {
    expect(broken(text)).toEqual([]);
  });

  it.each([
    ['an unknown instruction', text.replace('EXPOSE', 'EXPOSED'), 'EXPOSED'],
    ['two entry points', `${text}ENTRYPOINT ["node"]\n`, 'ENTRYPOINT'],
  ])('is read by a linter that finds %s', (_, changed, said) => {
    expect(findings(changed).join('\n')).toContain(said);
  });

  it.each([
    ['root', text.replace('USER 1000:1000', 'USER root'), 'the user root is not a number above 0'],
    [
      'a name',
      text.replace('USER 1000:1000', 'USER node'),
      'the user node is not a number above 0',
    ],
    ['a whole base', text.replaceAll('-slim', ''), 'node:22-bookworm is not a slim tag'],
    ['a shell', text.replace('CMD ["serve"]', 'CMD serve'), 'CMD runs a shell'],
    ['a secret', `${text}ENV API_TOKEN=word\n`, 'API_TOKEN=word'],
    ['a download', `${text}ADD https://example.com/a /a\n`, 'ADD fetches and unpacks: use COPY'],
  ])('is judged by rules that find %s', (_, changed, said) => {
    expect(changed).not.toBe(text);
    expect(broken(changed)).toContain(said);
  });
});
