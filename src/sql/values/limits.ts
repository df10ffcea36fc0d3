/** The longest text of one expression, in UTF-16 units. */
export const maxTextLength = 1_048_576;

/** Maximum nesting of an expression: parentheses while parsing, nodes in the tree. */
export const maxDepth = 200;

/** The greatest number that a parameter may have. */
export const maxParameters = 65_535;

/** The most types in each other, as of lists in lists. */
export const maxTypeDepth = 20;

/** The most nodes of an expression, literals not counted: an IN list may be long. */
export const maxNodes = 20_000;

/** The most arguments of a call, and operands of `||`, that are not all literals. */
export const maxArguments = 100;

/** The most characters between two `%` of a LIKE pattern when `_` is among them. */
export const maxWildcardRun = 1_024;

/** The most bytes of text that one function may make for a batch: a JavaScript string holds more. */
export const maxTextBytes = 402_653_184;

/** The most characters of one value that a function may make longer than its arguments. */
export const maxTextLengthen = 67_108_864;

/** The most bytes of work for what is the same for all rows, while an expression is bound. */
export const maxFoldedWork = 4_194_304;

/** The most elements that one function may put into the lists of a batch. */
export const maxListElements = 4_194_304;

/** The most elements of the lists of a result. */
export const maxWrittenElements = 134_217_728;

/** The most characters of a regular expression. */
export const maxPatternLength = 4_096;

/** Maximum nesting of groups and of quantifiers in a regular expression. */
export const maxPatternDepth = 50;

/** The most repetitions that a count such as `{2,5}` may ask for. */
export const maxRepetitions = 1_000;

/** The most steps of a regular expression once its counts are written out. */
export const maxPatternSteps = 200;

/** The most steps of a path into JSON. */
export const maxJsonSteps = 100;
