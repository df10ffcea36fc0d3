import type { Static } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { CatalogError } from '../errors.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import { checkable, explainFault, shortenInTurns } from './model-fault.ts';
import { arrowModels, commonModels, namespaceModels, tableModels } from './models-table.ts';
import { columnModels } from './models-column.ts';
import { extensionModels } from './models-extension.ts';
import { ftsModels, queryModels } from './models-query.ts';
import { indexModels } from './models-index.ts';
import { referenceModels, transactionModels, versionModels } from './models-version.ts';
import { rowModels } from './models-row.ts';
import { viewModels } from './models-view.ts';

/** Every model of the protocol by its name, as a JSON schema whose references are those names. */
export const models = {
  ...commonModels,
  ...namespaceModels,
  ...tableModels,
  ...arrowModels,
  ...columnModels,
  ...rowModels,
  ...queryModels,
  ...ftsModels,
  ...indexModels,
  ...versionModels,
  ...referenceModels,
  ...viewModels,
  ...transactionModels,
  ...extensionModels,
};

type ModelName = keyof typeof models;

/** The type of a checked value of a model. Integers are numbers or bigints. */
export type Model<Name extends ModelName> = Static<(typeof models)[Name], typeof models>;

/** Whether there is a model of this name. */
export function isModelName(name: string): name is ModelName {
  return Object.hasOwn(models, name);
}

const validators = new Map<ModelName, Validator>();

/** Compiled when first needed: a start should not pay for a hundred models. */
function validatorOf(name: ModelName): Validator {
  let validator = validators.get(name);
  if (validator === undefined) {
    validator = Compile(models, models[name]);
    validators.set(name, validator);
  }
  return validator;
}

/**
 * Checks a body against a model. Members that the model does not name are ignored,
 * and one that is null counts as absent.
 * @throws CatalogError InvalidInput naming the field, what it must be and what was found.
 * @throws TypeError when there is no such model.
 */
export function checkModel(name: string, value: JsonValue): void {
  if (!isModelName(name)) throw new TypeError(`there is no model ${name}`);
  const nothing = isEmpty(value);
  if (nothing && needless.has(name)) return;
  if (validatorOf(name).Check(checkable(value))) {
    if (nothing) needless.add(name);
    return;
  }
  throw new CatalogError('InvalidInput', `${name}: ${explainFault(models, models[name], value)}`);
}

/**
 * Makes the check of a long value short: compiles its model and looks through its long lists,
 * for a few milliseconds at a time.
 * @param pause Resolves when others have had their turn.
 */
export async function prepareCheck(
  name: string,
  value: JsonValue,
  pause: () => Promise<unknown>,
): Promise<void> {
  await pause();
  if (isModelName(name)) validatorOf(name);
  await pause();
  await shortenInTurns(value, pause);
  await pause();
}

/** Models that accept an object without members, as most reads send it. */
const needless = new Set<ModelName>();

function isEmpty(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  for (const _ in value) return false;
  return true;
}
