import { Type } from 'typebox';
import { answered, integer, optional, pageLimit, record, text, textMap } from './model-kinds.ts';

/** Models of errors, identity, context and pages. */
export const commonModels = {
  ErrorResponse: record({
    ...answered(),
    error: optional(text()),
    code: integer(),
    detail: optional(text()),
    instance: optional(text()),
  }),
  Identity: record({ api_key: optional(text()), auth_token: optional(text()) }),
  Context: textMap(),
  PageToken: Type.Union([text(), Type.Null()]),
  PageLimit: Type.Union([pageLimit(), Type.Null()]),
  Binary: text(),
};
