// Bundles the page's script and style into a C++ file.   node build.mjs NODE_MODULES OUTPUT.cpp
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [modules, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');

async function bundle(entry) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome100', 'firefox100', 'safari15'],
    charset: 'ascii',
    legalComments: 'inline', // the licences of what is bundled travel with it
    nodePaths: [modules],
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const text = outputFiles[0].text;
  // The file that holds it may not end its element early.
  if (/<\/(script|style)/i.test(text)) return text.replace(/<\/(script|style)/gi, '<\\/$1');
  return text;
}

// Raw strings, in pieces that every compiler takes.
function literal(name, text) {
  const pieces = [];
  for (let i = 0; i < text.length; i += 16000) pieces.push(`R"~page~(${text.slice(i, i + 16000)})~page~"`);
  return `extern const std::string_view ${name}{${pieces.join('\n')}, ${text.length}};\n`;
}

const script = await bundle('main.js');
const style = await bundle('style.css');
writeFileSync(output, `#include <string_view>
namespace stepsim {
${literal('page_script', script)}${literal('page_style', style)}}  // namespace stepsim
`);
