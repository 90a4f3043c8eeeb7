// Validates files with Ajv, which is told to refuse schemas that it does not understand to the last word.
const fs = require('node:fs')
const path = require('node:path')
const Ajv = require('ajv/dist/2020').default
const YAML = require('yaml')

const [root, run] = process.argv.slice(2)
const ajv = new Ajv({ strict: true, allErrors: true, strictRequired: false, allowUnionTypes: true })
require('ajv-formats').default(ajv)
const forms = {}
for (const form of ['prompt', 'config', 'result', 'event', 'replay']) {
  forms[form] = ajv.compile(JSON.parse(fs.readFileSync(path.join(root, `config/schema/${form}.schema.json`), 'utf8')))
}

let passed = 0
let failed = 0
const check = (form, what, value, expected = true) => {
  const fits = forms[form](value)
  if (fits === expected) passed++
  else {
    failed++
    console.log(`WRONG ${what}: ${expected ? ajv.errorsText(forms[form].errors) : 'it fits'}`)
  }
}

for (const folder of ['prompts', 'config']) {
  for (const name of fs.readdirSync(path.join(root, folder), { recursive: true })) {
    if (!name.endsWith('.yaml') || name === 'models.yaml') continue
    const form = name.endsWith('.replay.yaml') ? 'replay' : folder === 'prompts' && !name.endsWith('/config.yaml') ? 'prompt' : 'config'
    check(form, `${folder}/${name}`, YAML.parse(fs.readFileSync(path.join(root, folder, name), 'utf8')))
  }
}
check('result', 'the result', JSON.parse(fs.readFileSync(path.join(run, 'result.json'), 'utf8')))
const lines = fs.readFileSync(path.join(run, 'events.jsonl'), 'utf8').trim().split('\n')
lines.forEach((line, at) => check('event', `event ${at + 1}`, JSON.parse(line)))
if (lines.length < 50) failed++

// What tepa refuses is refused.
check('prompt', 'a misspelt key', { gaol: 'g', context: {}, expectedOutput: 'e' }, false)
check('prompt', 'no goal', { context: {}, expectedOutput: 'e' }, false)
check('prompt', 'a variable for a number', { goal: 'g', context: {}, expectedOutput: [{ path: 'p', description: 'd', checks: [{ minBytes: '{{n}}' }] }] })
check('config', 'a limit that is none', { limits: { maxCycles: 0 } }, false)
check('config', 'a key of one\'s own', { 'x-mine': 1, limits: { 'x-why': 'because' } })

console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0
