// Draws the page's data with the view that it names.
import { element } from './dom.js';
import { set_theme, watch_system } from './theme.js';
import { compare_view } from './views/compare.js';
import { report_view } from './views/report.js';
import { results_view } from './views/results.js';
import { stress_view } from './views/stress.js';
import { validation_view } from './views/validation.js';

// Each puts its elements into the page.
const views = { report: report_view, compare: compare_view, results: results_view, stress: stress_view, validation: validation_view };

const page = document.getElementById('page');
const data = JSON.parse(document.getElementById('data').textContent);
const dark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
watch_system();
page.replaceChildren();
views[page.dataset.view](page, data);
page.prepend(element('button', { type: 'button', class: 'theme', 'aria-label': 'Switch between light and dark', onclick: () => set_theme(dark() ? 'light' : 'dark') }, '◐'));
page.dataset.drawn = 'true';
