import { describe, expect, it } from 'vitest';
import { batch } from './refusal-batch.ts';
import { refusal } from './support.ts';

/** What is asked, and the kind and the full sentence of the refusal. */
const refusals: readonly (readonly [text: string, message: string])[] = [
  ['n =', 'syntax: expected an expression, found the end of the text, at position 4'],
  ['n = 1 and', 'syntax: expected an expression, found the end of the text, at position 10'],
  ['(n = 1', 'syntax: expected ")", found the end of the text, at position 7'],
  ['n = 1)', 'syntax: expected an operator or the end of the text, found ")", at position 6'],
  ['n === 1', 'syntax: expected an expression, found "=", at position 5'],
  ['n = 1 n', 'syntax: expected an operator or the end of the text, found "n", at position 7'],
  ['n between 1', 'syntax: expected AND, found the end of the text, at position 12'],
  ['n between 1 or 2', 'syntax: expected AND, found "or", at position 13'],
  ['n in 1', 'syntax: expected "(", found "1", at position 6'],
  ['n in ()', 'syntax: expected an expression, found ")", at position 7'],
  ['n in (1,', 'syntax: expected an expression, found the end of the text, at position 9'],
  ['n not 1', 'syntax: expected an operator or the end of the text, found "not", at position 3'],
  [
    'n is',
    'syntax: expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, found the end of the text, at position 5',
  ],
  [
    'n is not',
    'syntax: expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, found the end of the text, at position 9',
  ],
  ['n is distinct 3', 'syntax: expected FROM, found "3", at position 15'],
  [
    "t like 'a' escape",
    'syntax: expected the character of ESCAPE in quotes, found the end of the text, at position 18',
  ],
  [
    "t like 'a' escape 'ab'",
    "value: expected one character after ESCAPE, found 'ab', at position 19",
  ],
  ['case end', 'syntax: expected an expression, found "end", at position 6'],
  ['case when n = 1 end', 'syntax: expected THEN, found "end", at position 17'],
  ['case when n = 1 then 2', 'syntax: expected END, found the end of the text, at position 23'],
  [
    'case n when 1 then',
    'syntax: expected an expression, found the end of the text, at position 19',
  ],
  ['cast(n as)', 'syntax: expected the name of a type, found ")", at position 10'],
  ['cast(n int)', 'syntax: expected AS, found "int", at position 8'],
  ['cast(n as int', 'syntax: expected ")", found the end of the text, at position 14'],
  ['cast(n as decimal(1,))', 'syntax: expected a whole number, found ")", at position 21'],
  ['cast(n as 5)', 'syntax: expected the name of a type, found "5", at position 11'],
  ['n::', 'syntax: expected the name of a type, found the end of the text, at position 4'],
  [
    'n::foo',
    'type: expected the name of a type such as bigint, double or string, found foo, at position 4',
  ],
  [
    'cast(n as foo(3))',
    'type: expected the name of a type such as bigint, double or string, found foo(3), at position 11',
  ],
  [
    'cast(n as decimal(40, 2))',
    'type: expected the name of a type such as bigint, double or string, found decimal(40, 2), at position 11',
  ],
  [
    'cast(n as timestamp(4))',
    'type: expected the name of a type such as bigint, double or string, found timestamp(4), at position 11',
  ],
  ['cast(n as array<int)', 'syntax: expected ">", found ")", at position 20'],
  ['cast(n as struct<x>)', 'syntax: expected the name of a type, found ">", at position 19'],
  ['cast(n as struct<x int)', 'syntax: expected ">", found ")", at position 23'],
  ["'abc", "syntax: expected ' to end the string, found the end of the text, at position 1"],
  ['`abc', 'syntax: expected ` to end the quoted name, found the end of the text, at position 1'],
  ['"abc', 'syntax: expected " to end the quoted name, found the end of the text, at position 1'],
  ['``', 'syntax: expected a name between the quotes, found nothing, at position 1'],
  ["x'1'", "syntax: expected pairs of hexadecimal digits in X'...', found '1', at position 1"],
  ["x'zz'", "syntax: expected pairs of hexadecimal digits in X'...', found 'zz', at position 1"],
  ['1a', 'syntax: expected the number 1 to end, found "a", at position 2'],
  ['1e', 'syntax: expected the number 1 to end, found "e", at position 2'],
  ['1e400 > n', 'overflow: expected a number within float64, found 1e400, at position 1'],
  [
    '99999999999999999999999999999999999999999',
    'overflow: expected a whole number of at most 38 digits, found 41 digits, at position 1',
  ],
  [
    "date '2024-02-30'",
    "value: expected a date such as 2024-02-29, found '2024-02-30', at position 6",
  ],
  ["date 'x'", "value: expected a date such as 2024-02-29, found 'x', at position 6"],
  ["time '25:00'", "value: expected a time such as 23:59:59.5, found '25:00', at position 6"],
  [
    "timestamp '2024-13-01'",
    "value: expected a timestamp such as 2024-02-29 23:59:59, found '2024-13-01', at position 11",
  ],
  [
    "interval 'one day'",
    "value: expected an interval such as '1 day 2 hours', found 'one day', at position 10",
  ],
  [
    "interval '1 lightyear'",
    "value: expected an interval such as '1 day 2 hours', found '1 lightyear', at position 10",
  ],
  ['n = 1 -- all', 'syntax: expected an expression, found a comment, at position 7'],
  ['n /* x */ = 1', 'syntax: expected an expression, found a comment, at position 3'],
  ['n @ 1', 'syntax: expected an expression, found the character "@", at position 3'],
  ['n & 1', 'syntax: expected an expression, found the character "&", at position 3'],
  ['#', 'syntax: expected an expression, found the character "#", at position 1'],
  ['extract(n)', 'syntax: expected FROM, found ")", at position 10'],
  ['extract(5 from d)', 'syntax: expected a part of a date such as YEAR, found "5", at position 9'],
  ["position('a', t)", 'syntax: expected IN, found ",", at position 13'],
  ["overlay(t placing 'x')", 'syntax: expected FROM, found ")", at position 22'],
  ['[1, 2', 'syntax: expected "]", found the end of the text, at position 6'],
  ['l[1', 'syntax: expected "]", found the end of the text, at position 4'],
  ['l[', 'syntax: expected an expression, found the end of the text, at position 3'],
  ['s.', 'syntax: expected the name of a field, found the end of the text, at position 3'],
  ['select 1', 'syntax: expected an expression, found "select", at position 1'],
  ['from', 'syntax: expected an expression, found "from", at position 1'],
  [
    'nope = 1',
    'unknown-column: expected the name of a column, found nope; the nearest are n, ok, tiny, at position 1',
  ],
  [
    'N0 = 1',
    'unknown-column: expected the name of a column, found N0; the nearest are n, f, t, at position 1',
  ],
  [
    's.z = 1',
    'unknown-column: expected the name of a field, found z; the nearest are x, y, at position 1',
  ],
  [
    "s['z'] = 1",
    'unknown-column: expected the name of a field, found z; the nearest are x, y, at position 2',
  ],
  [
    '`N` = 1',
    'unknown-column: expected the name of a column, found N; the nearest are n, f, t, and a string stands in single quotes, at position 1',
  ],
  ['n.x = 1', 'type: expected a struct before .x, found int32, at position 1'],
  ['t.x.y', 'type: expected a struct before .x, found string, at position 1'],
  ['l.x', 'type: expected a struct before .x, found list<int32>, at position 1'],
  ["l['a']", 'type: expected a whole number as the place in a list, found string, at position 3'],
  ['s[1]', 'type: expected the name of a field in quotes, found int64, at position 2'],
  ['n[1]', 'type: expected a list, a struct or a map before [, found int32, at position 2'],
  [
    'foo(n)',
    'unknown-function: expected the name of a function, found foo; the nearest are floor, log, cos, at position 1',
  ],
  [
    'regexp_swap(t)',
    'unknown-function: expected the name of a function, found regexp_swap; the nearest are regexp_like, regexp_match, regexp_count, at position 1',
  ],
  [
    'count(n)',
    'unknown-function: expected a function of one row, found the aggregate count, at position 1',
  ],
  [
    'sum(n) > 1',
    'unknown-function: expected a function of one row, found the aggregate sum, at position 1',
  ],
  [
    'max(f)',
    'unknown-function: expected a function of one row, found the aggregate max, at position 1',
  ],
  [
    'row_number()',
    'unknown-function: expected a function of one row, found the aggregate row_number, at position 1',
  ],
  [
    'uuid()',
    'unknown-function: expected a function that gives the same for the same row, found uuid, which gives chance, at position 1',
  ],
  [
    'random() < 0.5',
    'unknown-function: expected a function that gives the same for the same row, found random, which gives chance, at position 1',
  ],
  [
    "n = 'x'",
    'type: expected two values that compare with each other, found int32 and string, at position 3',
  ],
  [
    'n = ok',
    'type: expected two values that compare with each other, found int32 and bool, at position 3',
  ],
  [
    't = 5',
    'type: expected two values that compare with each other, found string and int64, at position 3',
  ],
  [
    "ok > 'a'",
    'type: expected two values that compare with each other, found bool and string, at position 4',
  ],
  [
    'd = 5',
    'type: expected two values that compare with each other, found date and int64, at position 3',
  ],
  [
    "d = 'tomorrow'",
    "value: expected a date such as 2024-02-29 for date, found 'tomorrow', at position 5",
  ],
  [
    "ts = 'noon'",
    "value: expected a timestamp such as 2024-02-29 23:59:59 for timestamp(us), found 'noon', at position 6",
  ],
  [
    'm = n',
    'type: expected two values that compare with each other, found map<string, int32> and int32, at position 3',
  ],
  [
    'l = 1',
    'type: expected two values that compare with each other, found list<int32> and int64, at position 3',
  ],
  [
    "l = ['a']",
    'type: expected two values that compare with each other, found list<int32> and list<string>, at position 3',
  ],
  [
    's = 1',
    'type: expected two values that compare with each other, found struct<x: int32, y: string> and int64, at position 3',
  ],
  [
    "s = named_struct('x', 1)",
    'type: expected two values that compare with each other, found struct<x: int32, y: string> and struct<x: int64>, at position 3',
  ],
  ['n and ok', 'type: expected a predicate next to AND, found int32, at position 1'],
  ['not n', 'type: expected a predicate after NOT, found int32, at position 5'],
  ['n or ok', 'type: expected a predicate next to OR, found int32, at position 1'],
  ['ok and t', 'type: expected a predicate next to AND, found string, at position 8'],
  ['n is true', 'type: expected a predicate before IS TRUE, found int32, at position 1'],
  ['case when n then 1 end', 'type: expected a predicate after WHEN, found int32, at position 11'],
  [
    "case when ok then 1 else 'a' end",
    'type: expected results of one type, found int64 and string, at position 1',
  ],
  [
    "case n when 'a' then 1 end",
    'type: expected two values that compare with each other, found int32 and string, at position 13',
  ],
  ['n + t', 'type: expected operands that + is defined for, found int32 + string, at position 3'],
  ['t + 1', 'type: expected operands that + is defined for, found string + int64, at position 3'],
  ['ok + 1', 'type: expected operands that + is defined for, found bool + int64, at position 4'],
  ['d + 1', 'type: expected operands that + is defined for, found date + int64, at position 3'],
  ['d + d', 'type: expected operands that + is defined for, found date + date, at position 3'],
  ['d * 2', 'type: expected operands that * is defined for, found date * int64, at position 3'],
  [
    'ts + ts',
    'type: expected operands that + is defined for, found timestamp(us) + timestamp(us), at position 4',
  ],
  [
    'l + l',
    'type: expected operands that + is defined for, found list<int32> + list<int32>, at position 3',
  ],
  [
    's - s',
    'type: expected operands that - is defined for, found struct<x: int32, y: string> - struct<x: int32, y: string>, at position 3',
  ],
  ['- t', 'type: expected a number after -, found string, at position 1'],
  ['- ok', 'type: expected a number after -, found bool, at position 1'],
  ['-d', 'type: expected a number after -, found date, at position 1'],
  ['t || bin', 'type: expected values that have a text, found binary, at position 3'],
  ["n like 'a'", 'type: expected a string with LIKE, found int32, at position 1'],
  ['t like 5', 'type: expected a string with LIKE, found int64, at position 8'],
  ["l like 'a'", 'type: expected a string with LIKE, found list<int32>, at position 1'],
  [
    "n in ('a')",
    'type: expected two values that compare with each other, found int32 and string, at position 3',
  ],
  [
    't in (1, 2)',
    'type: expected two values that compare with each other, found string and int64, at position 3',
  ],
  [
    'l in (1)',
    'type: expected two values that compare with each other, found list<int32> and int64, at position 3',
  ],
  [
    "n between 'a' and 'b'",
    'type: expected two values that compare with each other, found int32 and string, at position 3',
  ],
  ['coalesce(n, t)', 'type: expected results of one type, found int32 and string, at position 1'],
  [
    'nullif(n, t)',
    'type: expected two values that compare with each other, found int32 and string, at position 1',
  ],
  ['greatest(n, t)', 'type: expected results of one type, found int32 and string, at position 1'],
  ["nvl2(ok, 1, 'a')", 'type: expected results of one type, found int64 and string, at position 1'],
  ['coalesce()', 'type: expected coalesce(value, ...), found 0 arguments, at position 1'],
  ['nullif(n)', 'type: expected nullif(value, other), found 1 argument, at position 1'],
  ['abs()', 'type: expected abs(number), found 0 arguments, at position 1'],
  ['abs(t)', 'type: expected a number as argument 1 of abs(number), found string, at position 5'],
  ['abs(n, n)', 'type: expected abs(number), found 2 arguments, at position 1'],
  [
    "sqrt('a')",
    'type: expected a number as argument 1 of sqrt(number), found string, at position 6',
  ],
  [
    "round(n, 'a')",
    'type: expected an integer as argument 2 of round(number[, digits]), found string, at position 10',
  ],
  ['power(n)', 'type: expected power(base, exponent), found 1 argument, at position 1'],
  ['log()', 'type: expected log([base, ]number), found 0 arguments, at position 1'],
  [
    'mod(n, t)',
    'type: expected a number as argument 2 of mod(number, divisor), found string, at position 8',
  ],
  [
    'factorial(1.5)',
    'type: expected an integer as argument 1 of factorial(integer), found float64, at position 11',
  ],
  ['lower(n)', 'type: expected a string as argument 1 of lower(text), found int32, at position 7'],
  [
    'length(l)',
    'type: expected a string as argument 1 of length(text), found list<int32>, at position 8',
  ],
  ['substr(t)', 'type: expected substr(text, start[, length]), found 1 argument, at position 1'],
  [
    "substr(t, 'a')",
    'type: expected an integer as argument 2 of substr(text, start[, length]), found string, at position 11',
  ],
  [
    'left(t, t)',
    'type: expected an integer as argument 2 of left(text, count), found string, at position 9',
  ],
  ["replace(t, 'a')", 'type: expected replace(text, from, to), found 2 arguments, at position 1'],
  [
    "split_part(t, 'a', 'b')",
    'type: expected an integer as argument 3 of split_part(text, separator, part), found string, at position 20',
  ],
  [
    'lpad(n, 5)',
    'type: expected a string as argument 1 of lpad(text, length[, filler]), found int32, at position 6',
  ],
  [
    "starts_with(n, 'a')",
    'type: expected a string as argument 1 of starts_with(text, part), found int32, at position 13',
  ],
  [
    "concat_ws('-')",
    'type: expected concat_ws(separator, value, ...), found 1 argument, at position 1',
  ],
  ['chr(t)', 'type: expected an integer as argument 1 of chr(code), found string, at position 5'],
  [
    "translate(t, 'a')",
    'type: expected translate(text, from, to), found 2 arguments, at position 1',
  ],
  [
    "string_to_array(n, ',')",
    'type: expected a string as argument 1 of string_to_array(text, separator[, null]), found int32, at position 17',
  ],
  [
    "overlay(t, 'x')",
    'type: expected overlay(text, part, start[, length]), found 2 arguments, at position 1',
  ],
  ['levenshtein(t)', 'type: expected levenshtein(text, text), found 1 argument, at position 1'],
  [
    "encode(n, 'hex')",
    "type: expected a string or a binary as argument 1 of encode(value, 'encoding'), found int32, at position 8",
  ],
  [
    "encode(t, 'rot13')",
    "value: expected one of base64, base64pad, hex as the encoding of encode, found 'rot13', at position 11",
  ],
  [
    'encode(t, t)',
    'value: expected one of base64, base64pad, hex as the encoding of encode, found no literal, at position 11',
  ],
  [
    'decode(t, 5)',
    'value: expected one of base64, base64pad, hex as the encoding of decode, found no literal, at position 11',
  ],
  [
    'md5(n)',
    'type: expected a string or a binary as argument 1 of md5(value), found int32, at position 5',
  ],
  ['sha256()', 'type: expected sha256(value), found 0 arguments, at position 1'],
  [
    "digest(t, 'md4')",
    "value: expected one of md5, sha224, sha256, sha384, sha512 as the algorithm of digest, found 'md4', at position 11",
  ],
  [
    'hex(f)',
    'type: expected a string or a binary as argument 1 of hex(value), found float64, at position 5',
  ],
  [
    'regexp_like(t)',
    "type: expected regexp_like(text, pattern[, 'flags']), found 1 argument, at position 1",
  ],
  [
    "regexp_like(t, '(')",
    'value: expected ) after a group at character 2 of the regular expression, found its end, at position 16',
  ],
  [
    "regexp_like(t, 'a', 'x')",
    "value: expected the letters i, m and s as the flags of regexp_like, found 'x', at position 21",
  ],
  [
    "regexp_like(t, 'a', t)",
    'value: expected the letters i, m and s as the flags of regexp_like, found no literal, at position 21',
  ],
  [
    "regexp_replace(t, 'a')",
    "type: expected regexp_replace(text, pattern, replacement[, 'flags']), found 2 arguments, at position 1",
  ],
  [
    "regexp_replace(t, '[', 'x')",
    'value: expected ] after the characters of a class at character 2 of the regular expression, found its end, at position 19',
  ],
  [
    "regexp_replace(t, 'a', 'b', 'gx')",
    "value: expected the letters g, i, m and s as the flags of regexp_replace, found 'gx', at position 29",
  ],
  [
    "regexp_match(n, 'a')",
    "type: expected a string as argument 1 of regexp_match(text, pattern[, 'flags']), found int32, at position 14",
  ],
  [
    "regexp_count(t, '*')",
    "value: expected something to repeat before a quantifier at character 1 of the regular expression, found '*', at position 17",
  ],
  [
    "regexp_instr(t, 'a', 'b')",
    "type: expected an integer as argument 3 of regexp_instr(text, pattern[, start[, number[, 'flags']]]), found string, at position 22",
  ],
  [
    "date_part('age', d)",
    "value: expected one of year, isoyear, quarter, month, week, day, dow, isodow, doy, hour, minute, second, millisecond, microsecond, epoch as the part of a date, found 'age', at position 11",
  ],
  [
    'date_part(t, d)',
    'value: expected one of year, isoyear, quarter, month, week, day, dow, isodow, doy, hour, minute, second, millisecond, microsecond, epoch as the part of a date, found no literal, at position 11',
  ],
  [
    "date_part('hour', t)",
    "type: expected a date or timestamp that has the part hour as argument 2 of date_part('part', value), found string, at position 19",
  ],
  [
    "date_trunc('age', d)",
    "value: expected one of year, quarter, month, week, day, hour, minute, second, millisecond, microsecond as the unit of date_trunc, found 'age', at position 12",
  ],
  [
    "date_trunc('hour', n)",
    "type: expected a date or timestamp as argument 2 of date_trunc('unit', value), found int32, at position 20",
  ],
  [
    "date_bin(interval '1 month', ts)",
    'value: expected a bin of days and times above 0 in date_bin, found 1 month, at position 10',
  ],
  [
    "date_bin('one day', ts)",
    "type: expected an interval such as '1 day' as argument 1 of date_bin(interval, value[, origin]), found string, at position 10",
  ],
  [
    'to_date(ok)',
    "type: expected a string, an integer, a date or a timestamp as argument 1 of to_date(value[, 'format', ...]), found bool, at position 9",
  ],
  [
    'to_date(t, 5)',
    "type: expected a string as argument 2 of to_date(value[, 'format', ...]), found int64, at position 12",
  ],
  [
    'to_timestamp(ok)',
    "type: expected a string, a number, a date or a timestamp as argument 1 of to_timestamp(value[, 'format', ...]), found bool, at position 14",
  ],
  [
    "to_char(n, '%Y')",
    "type: expected a date, a time or a timestamp as argument 1 of to_char(value, 'format'), found int32, at position 9",
  ],
  ['to_char(d)', "type: expected to_char(value, 'format'), found 1 argument, at position 1"],
  [
    'make_date(1, 2)',
    'type: expected make_date(year, month, day), found 2 arguments, at position 1',
  ],
  [
    'make_date(ok, 1, 1)',
    'type: expected an integer as argument 1 of make_date(year, month, day), found bool, at position 11',
  ],
  [
    'extract(hour from nowhere)',
    'type: expected a time zone that is known, found timestamp(us, Nowhere/Else), at position 19',
  ],
  [
    "date_trunc('day', nowhere)",
    'type: expected a time zone that is known, found timestamp(us, Nowhere/Else), at position 19',
  ],
  [
    'cast(nowhere as date)',
    'type: expected a time zone that is known, found timestamp(us, Nowhere/Else), at position 1',
  ],
  [
    "nowhere > timestamp '2020-01-01 00:00:00'",
    'type: expected a time zone that is known, found timestamp(us, Nowhere/Else), at position 11',
  ],
  [
    "ts AT TIME ZONE 'Nowhere/Else'",
    "value: expected a time zone such as 'Europe/Berlin' or '+02:00', found 'Nowhere/Else', at position 17",
  ],
  [
    'ts AT TIME ZONE t',
    "type: expected the name of a time zone in quotes as argument 2 of at_time_zone(timestamp, 'zone'), found string, at position 17",
  ],
  [
    "n AT TIME ZONE 'UTC'",
    "type: expected a date or timestamp as argument 1 of at_time_zone(timestamp, 'zone'), found int32, at position 1",
  ],
  ["ts AT TIME 'UTC'", "syntax: expected ZONE, found 'UTC', at position 12"],
  [
    'age(n)',
    'type: expected a date or timestamp as argument 1 of age(timestamp[, timestamp]), found int32, at position 5',
  ],
  [
    "age(ts) > interval '1 month'",
    'type: expected an interval of days and times with duration(us), found one of months, at position 11',
  ],
  [
    'map_keys(n)',
    'type: expected a map as argument 1 of map_keys(map), found int32, at position 10',
  ],
  ['make_map(t)', 'type: expected make_map(key, value, ...), found 1 argument, at position 1'],
  ["make_map('a', n)[1]", 'type: expected a key of type string, found int64, at position 18'],
  [
    "make_map('a', n).a",
    'type: expected a struct before .a, found map<string, int32>, at position 17',
  ],
  [
    'arrays_zip(l, n)',
    'type: expected a list of values as argument 2 of arrays_zip(list, ...), found int32, at position 15',
  ],
  [
    "json_get(n, 'a')",
    "type: expected a string as argument 1 of json_get(json, 'key'), found int32, at position 10",
  ],
  [
    'array_has(n, 1)',
    'type: expected a list of values as argument 1 of array_has(list, value), found int32, at position 11',
  ],
  [
    "array_has(l, 'a')",
    "type: expected a value of the list's type as argument 2 of array_has(list, value), found string, at position 14",
  ],
  [
    "array_append(l, 'a')",
    "type: expected a value of the list's type as argument 2 of array_append(list, value), found string, at position 17",
  ],
  [
    "array_concat(l, ['a'])",
    "type: expected a list of the other list's type as argument 2 of array_concat(list, ...), found list<string>, at position 17",
  ],
  [
    'array_concat(l, 1)',
    'type: expected a list of values as argument 2 of array_concat(list, ...), found int64, at position 17',
  ],
  ['array_remove(l)', 'type: expected array_remove(list, value), found 1 argument, at position 1'],
  [
    'array_slice(l, 1)',
    'type: expected array_slice(list, from, to[, stride]), found 2 arguments, at position 1',
  ],
  [
    'array_sort(l, 5)',
    "type: expected a string as argument 2 of array_sort(list[, 'asc' or 'desc'[, 'nulls first' or 'nulls last']]), found int64, at position 15",
  ],
  [
    'array_length(n)',
    'type: expected a list of values as argument 1 of array_length(list[, dimension]), found int32, at position 14',
  ],
  [
    "array_position(l, 'a')",
    "type: expected a value of the list's type as argument 2 of array_position(list, value[, start]), found string, at position 19",
  ],
  [
    'array_to_string(l)',
    'type: expected array_to_string(list, separator[, null]), found 1 argument, at position 1',
  ],
  [
    "array_distance(l, ['a'])",
    'type: expected a list of numbers as argument 2 of array_distance(list, list), found list<string>, at position 19',
  ],
  [
    'array_dims(n)',
    'type: expected a list of values as argument 1 of array_dims(list), found int32, at position 12',
  ],
  [
    "range('a')",
    'type: expected an integer as argument 1 of range([start, ]stop[, step]), found string, at position 7',
  ],
  [
    'flatten(n)',
    'type: expected a list of values as argument 1 of flatten(list), found int32, at position 9',
  ],
  ["[1, 'a']", 'type: expected results of one type, found int64 and string, at position 1'],
  ['make_array(n, t)', 'type: expected results of one type, found int32 and string, at position 1'],
  [
    "named_struct('x')",
    "type: expected named_struct('name', value, ...), found 1 argument, at position 1",
  ],
  [
    'named_struct(t, n)',
    "type: expected the name of a field in quotes as argument 1 of named_struct('name', value, ...), found string, at position 14",
  ],
  [
    "named_struct('x', 1, 'x', 2)",
    "value: expected fields of different names in named_struct, found 'x' twice, at position 22",
  ],
  [
    "struct(interval '1 day')",
    'type: expected a value that can be computed with as argument 1 of struct(value, ...), found interval, at position 8',
  ],
  [
    "get_field(s, 'z')",
    'unknown-column: expected the name of a field, found z; the nearest are x, y, at position 1',
  ],
  [
    "get_field(n, 'x')",
    'type: expected a list, a struct or a map before [, found int32, at position 1',
  ],
  ['arrow_cast(n)', "type: expected arrow_cast(value, 'type'), found 1 argument, at position 1"],
  [
    "arrow_cast(n, 'Foo')",
    "type: expected the name of an Arrow type such as Int64 or List(Utf8), found 'Foo', at position 15",
  ],
  [
    'arrow_cast(n, t)',
    "type: expected the name of an Arrow type in quotes as argument 2 of arrow_cast(value, 'type'), found string, at position 15",
  ],
  [
    "arrow_cast(n, 'Float16')",
    "type: expected a type that expressions give, such as Utf8 or Float32, found 'Float16', at position 15",
  ],
  [
    "arrow_cast(t, 'Dictionary(Int32, Utf8)')",
    "type: expected a type that expressions give, such as Utf8 or Float32, found 'Dictionary(Int32, Utf8)', at position 15",
  ],
  [
    "arrow_cast(s, 'Int32')",
    'type: expected a value that casts to int32, found struct<x: int32, y: string>, at position 1',
  ],
  [
    'cast(l as int)',
    'type: expected a value that casts to int32, found list<int32>, at position 1',
  ],
  [
    'cast(n as array<int>)',
    'type: expected a value that casts to list<int32>, found int32, at position 1',
  ],
  [
    'cast(s as struct<q int>)',
    'type: expected a value that casts to struct<q: int32>, found struct<x: int32, y: string>, at position 1',
  ],
  [
    'cast(m as string)',
    'type: expected a value that casts to string, found map<string, int32>, at position 1',
  ],
  ['cast(bin as int)', 'type: expected a value that casts to int32, found binary, at position 1'],
  ['$1', 'value: expected a value for parameter $1, found none given, at position 1'],
  ['? = 1', 'value: expected a value for parameter $1, found none given, at position 1'],
  ['n / 0', 'value: expected a divisor other than zero, found 1 / 0, at position 3'],
  ['n % 0', 'value: expected a divisor other than zero, found 1 % 0, at position 3'],
  ['dec / 0', 'value: expected a divisor other than zero, found 1.50 / 0, at position 5'],
  ['tiny + 1 > 0', 'overflow: expected a result within int8, found 127 + 1, at position 6'],
  [
    'cast(n as tinyint) * 100',
    'overflow: expected a result within int8, found -7 * 100, at position 20',
  ],
  [
    'big + 1',
    'overflow: expected a result within int64, found 9223372036854775807 + 1, at position 5',
  ],
  [
    '-big',
    'overflow: expected a result within int64, found -(-9223372036854775808), at position 1',
  ],
  [
    'abs(big)',
    'overflow: expected a result within int64, found abs(-9223372036854775808), at position 1',
  ],
  ['abs(tiny)', 'overflow: expected a result within int8, found abs(-128), at position 1'],
  [
    'cast(f as int)',
    'overflow: expected a value that int32 can hold, found NaN of float64, at position 1',
  ],
  [
    'cast(big as int)',
    'overflow: expected a value that int32 can hold, found 9223372036854775807 of int64, at position 1',
  ],
  [
    'cast(t as int)',
    "value: expected a value that int32 can hold, found 'abc' of string, at position 1",
  ],
  [
    'cast(t as date)',
    "value: expected a value that date can hold, found 'abc' of string, at position 1",
  ],
  [
    'cast(t as double)',
    "value: expected a value that float64 can hold, found 'abc' of string, at position 1",
  ],
  [
    'cast(t as boolean)',
    "value: expected a value that bool can hold, found 'abc' of string, at position 1",
  ],
  ['cast(bin as string)', "value: expected UTF-8, found X'ff', at position 1"],
  [
    'cast(dec as decimal(2, 2))',
    'overflow: expected a value that decimal(2, 2) can hold, found 1.50 of decimal(10, 2), at position 1',
  ],
  [
    "cast('9999-12-31' as timestamp(9))",
    "value: expected a value that timestamp(ns) can hold, found '9999-12-31' of string, at position 1",
  ],
  [
    "arrow_cast(l, 'FixedSizeList(3 x Int32)')",
    'value: expected a list of 3 values, found one of 2, at position 1',
  ],
  [
    "arrow_cast(bin, 'FixedSizeBinary(2)')",
    'value: expected a binary of 2 bytes, found one of 1, at position 1',
  ],
  [
    'cast([n * 1000] as array<tinyint>)',
    'overflow: expected a value that int8 can hold, found 1000 of int32, at position 1',
  ],
  [
    "cast(named_struct('x', n * 1000) as struct<x tinyint>)",
    'overflow: expected a value that int8 can hold, found 1000 of int32, at position 1',
  ],
  ['chr(n)', 'value: expected the number of a Unicode character in chr, found -7, at position 1'],
  ['substr(t, 1, -1)', 'value: expected a length of 0 or more in substr, found -1, at position 1'],
  [
    "split_part(t, 'a', 0)",
    'value: expected a part other than 0 in split_part, found 0, at position 1',
  ],
  [
    "overlay(t, 'x', 0)",
    'value: expected a start of 1 or more and a length of 0 or more in overlay, found a start of 0, at position 1',
  ],
  ["decode(t, 'hex')", "value: expected text in hex in decode, found 'abc', at position 1"],
  ["decode('a', 'base64')", "value: expected text in base64 in decode, found 'a', at position 1"],
  [
    "regexp_like('a', t)",
    'value: expected ) after a group at character 2 of the regular expression, found its end, at position 18',
  ],
  [
    "regexp_instr(t, 'a', 0)",
    'value: expected a start of 1 or more in regexp_instr, found 0, at position 1',
  ],
  [
    "to_date(t, '%Y')",
    "value: expected text in the format '%Y' in to_date, found 'abc', at position 1",
  ],
  [
    "to_date(t, '%Q')",
    "value: expected a format such as %Y-%m-%d in to_date, found '%Q', at position 1",
  ],
  [
    "to_char(d, '%Q')",
    "value: expected a format such as %Y-%m-%d in to_char, found '%Q', at position 1",
  ],
  ['to_timestamp(f)', 'value: expected a finite number in to_timestamp, found NaN, at position 1'],
  [
    'make_date(2024, 2, 30)',
    'value: expected the parts of a day of the calendar in make_date, found 2024, 2, 30, at position 1',
  ],
  [
    'make_date(2024, 13, 1)',
    'value: expected the parts of a day of the calendar in make_date, found 2024, 13, 1, at position 1',
  ],
  [
    'make_time(24, 0, 0)',
    'value: expected the parts of a time of the day in make_time, found 24, 0, 0, at position 1',
  ],
  [
    'array_position(l, 1, 0)',
    'value: expected a start of 1 or more in array_position, found 0, at position 1',
  ],
  [
    'array_slice(l, 1, 2, 0)',
    'value: expected a stride other than 0 in array_slice, found 0, at position 1',
  ],
  [
    "array_sort(l, 'up')",
    "value: expected 'asc' or 'desc' in array_sort, found 'up', at position 1",
  ],
  [
    'array_resize(l, -1)',
    'value: expected a size of 0 or more in array_resize, found -1, at position 1',
  ],
  [
    'array_distance(l, [1.0])',
    'value: expected two lists of one length in array_distance, found 2 and 1 elements, at position 1',
  ],
  ['range(1, 5, 0)', 'value: expected a step other than 0 in range, found 0, at position 1'],
  ['factorial(21)', 'overflow: expected a result within int64, found factorial(21), at position 1'],
  [
    'lcm(9223372036854775807, 2)',
    'overflow: expected a result within int64, found lcm(9223372036854775807, 2), at position 1',
  ],
  [
    'repeat(t, 100000000)',
    'limit: expected at most 67108864 characters from repeat, found 300000000, at position 1',
  ],
  [
    'lpad(t, 100000000)',
    'limit: expected at most 67108864 characters from lpad, found 100000000, at position 1',
  ],
  [
    'range(100000000)',
    'limit: expected at most 4194304 elements of lists in a batch from range, found more, at position 1',
  ],
  [
    'array_repeat(n, 100000000)',
    'limit: expected at most 4194304 elements of lists in a batch from array_repeat, found more, at position 1',
  ],
  [
    'array_resize(l, 100000000)',
    'limit: expected at most 4194304 elements of lists in a batch from array_resize, found more, at position 1',
  ],
  [
    "t like '%____________________%' and regexp_like(t, 'a{2000}')",
    'limit: expected at most 1000 repetitions in a regular expression, found 2000, at position 52',
  ],
  [
    "regexp_like(t, '(a{30}){30}')",
    'limit: expected a regular expression of at most 200 steps, found more, at position 16',
  ],
];

describe('an expression that is refused', () => {
  it.each(refusals)('%s', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });

  it('is told its kind, what was expected, what was found, and where', () => {
    for (const [, message] of refusals) {
      expect(message).toMatch(/^[a-z-]+: expected .+, found .+, at position \d+$/s);
    }
    expect(refusals.length).toBeGreaterThanOrEqual(150);
  });
});
