import { COMMITS_FILE } from '../rules/commit-rule.ts';
import { ISSUERS_FILE } from './issuers.ts';
import { LIMITS_FILE } from './limit.ts';
import type { PolicyTexts } from './policy-folder.ts';
import { MODEL_FILE, POLICY_FILE } from './policy-line.ts';

/** The file of each text that decides. */
const fileNames: Readonly<Record<keyof PolicyTexts, string>> = {
  model: MODEL_FILE,
  policy: POLICY_FILE,
  issuers: ISSUERS_FILE,
  limits: LIMITS_FILE,
  commits: COMMITS_FILE,
};

/** A file of a policy. */
export interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/** The files that the texts of a policy came from. */
export function filesOfPolicy(texts: PolicyTexts): readonly PolicyFile[] {
  const parts = Object.keys(fileNames) as readonly (keyof PolicyTexts)[];
  return parts.flatMap((part) => {
    const text = texts[part];
    return text === undefined ? [] : [{ name: fileNames[part], text }];
  });
}
