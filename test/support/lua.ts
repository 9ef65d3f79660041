/** Lua as Argo CD runs it: with the functions of the language itself, and without the libraries for text, files and the system. */
import { spawnSync } from 'node:child_process';

const program = 'lua5.4';
const longestMs = 30_000;

/** Undefined: nothing. */
export function whatLuaNeeds(): string | undefined {
  return spawnSync(program, ['-v']).status === 0 ? undefined : `it needs ${program} (Debian: lua5.4)`;
}

/** What the script returns, for the object. Throws with the message of an error in it. */
export function runLua(script: string, object: unknown): unknown {
  const { status, stdout, stderr } = spawnSync(program, ['-'], {
    input: `${harness}\nrun(${literal(script)}, ${literal(object)})\n`,
    encoding: 'utf8',
    timeout: longestMs,
  });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return JSON.parse(stdout);
}

const harness = `
local function json(value)
  if type(value) == "string" then
    return '"' .. value:gsub('[%c"\\\\]', function(c) return ("\\\\u%04x"):format(c:byte()) end) .. '"'
  end
  if type(value) ~= "table" then
    return tostring(value)
  end
  local parts = {}
  if #value > 0 then
    for _, each in ipairs(value) do parts[#parts + 1] = json(each) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for name, each in pairs(value) do parts[#parts + 1] = json(name) .. ":" .. json(each) end
  return "{" .. table.concat(parts, ",") .. "}"
end

function run(script, object)
  local known = { obj = object, error = error, ipairs = ipairs, next = next, pairs = pairs, table = table,
    tonumber = tonumber, tostring = tostring, type = type }
  print(json(assert(load(script, "=script", "t", known))()))
end
`;

/** A JSON value as Lua writes it; null is nothing. */
function literal(value: unknown): string {
  if (typeof value === 'string')
    return `"${[...Buffer.from(value)].map((byte) => `\\x${hex(byte)}`).join('')}"`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return 'nil';
  if (Array.isArray(value)) return `{${value.map(literal).join(', ')}}`;
  const fields = Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
  return `{${fields.map(([name, one]) => `[${literal(name)}] = ${literal(one)}`).join(', ')}}`;
}

const hex = (byte: number) => byte.toString(16).padStart(2, '0');
