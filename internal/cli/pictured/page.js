"use strict"
// The page draws what stands in it. Texts of others become text nodes, never markup.
const states = ["Error", "Warning", "Unknown", "Waiting", "Fine"], marks = ["✕", "!", "?", "…", "✓"]
const few = 80 // so many tiles have room for names
let rows = JSON.parse(document.getElementById("tiles").textContent)
const map = document.getElementById("map"), search = document.getElementById("search"), found = document.getElementById("found")
const dialog = document.getElementById("detail"), shown = { state: "", query: "" }
let groups = [], current = null

const element = (name, attributes, ...children) => {
	const made = document.createElement(name)
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
	made.append(...children)
	return made
}

// sliced does the steps of a generator a few milliseconds at a time: whoever scrolls or types does not wait. A later job of
// the same name replaces one that is not done.
const jobs = {}
const sliced = (name, steps) => {
	const mine = jobs[name] = {}
	const go = () => {
		for (const until = performance.now() + 8; performance.now() < until;) {
			if (jobs[name] !== mine) return
			if (steps.next().done) return
		}
		setTimeout(go)
	}
	go()
}

const nameOf = row => row.n + "/" + row.c
const matches = row => (!shown.state || states[row.s] === shown.state) && row.words.includes(shown.query)

const prepare = (row, index) => {
	row.index = index
	row.tile = element("button", { type: "button", tabindex: "-1" })
	row.tile.row = row
	dress(row)
}

// dress has the tile say what the row says.
const dress = row => {
	row.words = [nameOf(row), row.p, row.i, row.t, states[row.s], ...row.k || []].filter(Boolean).join("\n").toLowerCase()
	row.tile.className = "tile " + states[row.s].toLowerCase()
	row.tile.title = nameOf(row) + (row.t ? "\n" + row.t : "")
	row.tile.setAttribute("aria-label", nameOf(row) + ": " + states[row.s] + (row.t ? ", " + row.t : ""))
	row.tile.textContent = marks[row.s] + (rows.length <= few ? " " + row.c : "")
}

// draw makes the groups; tiles move from one to the other.
const inBlock = 100
function* draw(by) {
	const kinds = new Map()
	for (const [index, row] of rows.entries()) {
		if (!row.tile) prepare(row, index)
		const key = row[by] || { p: "no CorporateProxy", i: "not known" }[by]
		if (!kinds.has(key)) kinds.set(key, [])
		kinds.get(key).push(row)
		if (index % 50 === 0) yield
	}
	document.documentElement.dataset.drawn = ""
	map.replaceChildren()
	groups = []
	current = null
	for (const key of [...kinds.keys()].sort()) {
		const members = kinds.get(key).sort((a, b) => a.s - b.s || a.index - b.index)
		const count = element("span", {}), section = element("div", { class: "group", role: "group", "aria-label": key }, element("h3", {}, key, count))
		const group = { section, count, members }
		groups.push(group)
		map.append(section)
		for (let from = 0; from < members.length; from += inBlock) {
			const block = element("div", { class: "block" })
			for (const row of members.slice(from, from + inBlock)) block.append(row.tile)
			section.append(block)
			yield
		}
		yield* filter([group])
	}
	tell()
	document.documentElement.dataset.drawn = by
}

// filter hides what is not asked for.
function* filter(of) {
	for (const group of of) {
		const counts = states.map(() => 0)
		let step = 0
		for (const row of group.members) {
			const is = matches(row)
			if (row.tile.hidden === is) row.tile.hidden = !is
			if (is) counts[row.s]++
			if (++step % 100 === 0) yield
		}
		for (const block of group.section.querySelectorAll(".block")) {
			const none = !block.querySelector(".tile:not([hidden])")
			if (block.hidden !== none) block.hidden = none
		}
		group.visible = counts.reduce((a, b) => a + b)
		group.section.hidden = !group.visible
		group.count.textContent = counts.flatMap((n, s) => n ? [n + " " + states[s]] : []).join(", ")
		yield
	}
}

const tell = () => {
	const n = groups.reduce((sum, group) => sum + group.visible, 0)
	found.textContent = n === rows.length ? n + " clusters" : n + " of " + rows.length + " clusters"
	if (!current || current.hidden) focusable(visible()[0])
	document.documentElement.dataset.found = n
}

const regroup = () => sliced("map", draw(document.querySelector("input[name=group]:checked").value))
const refilter = () => sliced("map", (function* () {
	if (document.documentElement.dataset.drawn !== document.querySelector("input[name=group]:checked").value) {
		yield* draw(document.querySelector("input[name=group]:checked").value)
		return
	}
	yield* filter(groups)
	tell()
})())

// One tile is reached by Tab, the others by arrow keys from there.
const visible = () => groups.flatMap(group => group.section.hidden ? [] : group.members.filter(row => !row.tile.hidden).map(row => row.tile))
const focusable = tile => {
	if (current) current.tabIndex = -1
	current = tile
	if (tile) tile.tabIndex = 0
}

// beside is the nearest tile in a line above or below.
const beside = (all, from, down) => {
	const here = from.getBoundingClientRect(), at = all.indexOf(from)
	let best = null
	for (let i = at + down, row = null; i >= 0 && i < all.length; i += down) {
		const box = all[i].getBoundingClientRect()
		if (Math.abs(box.top - here.top) < 2) continue
		if (row === null) row = box.top
		if (Math.abs(box.top - row) > 2) break
		const away = Math.abs(box.left - here.left)
		if (!best || away < best.away) best = { tile: all[i], away }
	}
	return best && best.tile
}

map.addEventListener("keydown", event => {
	const from = event.target.closest(".tile")
	if (!from || event.altKey || event.ctrlKey || event.metaKey) return
	const all = visible(), at = all.indexOf(from)
	const to = {
		ArrowRight: () => all[at + 1], ArrowLeft: () => all[at - 1], ArrowDown: () => beside(all, from, 1), ArrowUp: () => beside(all, from, -1),
		Home: () => all[0], End: () => all[all.length - 1],
	}[event.key]
	if (!to) return
	event.preventDefault()
	const tile = to()
	if (!tile) return
	focusable(tile)
	tile.focus()
})

map.addEventListener("click", event => {
	const tile = event.target.closest(".tile")
	if (!tile) return
	focusable(tile)
	location.hash = "#" + nameOf(tile.row)
})

// details reads those of a cluster, and of its neighbours, when somebody opens it.
const inChunk = Number(map.dataset.chunk)
let chunks = document.querySelectorAll("script.details"), read = []
const details = index => {
	const at = Math.floor(index / inChunk)
	read[at] ??= JSON.parse(chunks[at].textContent)
	return read[at][index % inChunk]
}

const cells = (kind, texts) => texts.map(text => element(kind, kind === "th" ? { scope: "col" } : {}, text))
const table = (heading, lines) => element("div", { class: "wide short" }, element("table", {},
	element("thead", {}, element("tr", {}, ...cells("th", heading))),
	element("tbody", {}, ...lines.map(line => element("tr", {}, ...cells("td", line))))))

const fill = row => {
	const d = details(row.index), body = []
	for (const one of d.said || []) {
		body.push(element("div", { class: "said " + one.s.toLowerCase() },
			element("p", {}, element("b", {}, one.s), " " + one.c + (one.f ? ", " + one.f : "")), element("p", {}, one.t),
			...(one.d ? [element("p", {}, element("b", {}, "do: "), one.d)] : [])))
	}
	if (!body.length) body.push(element("p", {}, element("span", { class: "pill fine" }, marks[4] + " Fine"), " Nothing is to be said."))
	if (d.facts) body.push(element("h3", {}, "Who decides what"), element("dl", {}, ...d.facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])))
	if (d.entries) body.push(element("h3", {}, "NO_PROXY, and where each entry comes from"), table(["entry", "from", "field"], d.entries))
	if (d.note) body.push(element("p", { class: "soft" }, d.note))
	for (const one of d.tables || []) body.push(element("h3", {}, one.title), table(one.heading, one.rows))
	body.push(element("h3", {}, "More"), ...d.commands.map(text => element("code", { class: "command" }, text)))
	document.getElementById("detail-title").textContent = nameOf(row)
	document.getElementById("detail-body").replaceChildren(...body)
}

const open = row => {
	fill(row)
	if (!dialog.open) dialog.showModal()
	dialog.scrollTop = 0
	document.getElementById("detail-title").focus()
}

const follow = () => {
	const name = decodeURIComponent(location.hash.slice(1)), row = name && rows.find(row => nameOf(row) === name)
	if (row) open(row)
	else if (dialog.open) dialog.close()
}
addEventListener("hashchange", follow)
document.getElementById("close").addEventListener("click", () => dialog.close())
dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close() })
dialog.addEventListener("close", () => {
	history.replaceState(null, "", location.pathname + location.search)
	if (current) current.focus()
})

let typed = 0
search.addEventListener("input", () => {
	clearTimeout(typed)
	typed = setTimeout(() => { shown.query = search.value.trim().toLowerCase(); refilter() }, 60)
})
for (const button of document.querySelectorAll(".state")) {
	button.addEventListener("click", () => {
		shown.state = shown.state === button.dataset.state ? "" : button.dataset.state
		for (const other of document.querySelectorAll(".state")) other.setAttribute("aria-pressed", String(other.dataset.state === shown.state))
		refilter()
	})
}
for (const radio of document.querySelectorAll("input[name=group]")) radio.addEventListener("change", regroup)
document.addEventListener("click", event => {
	const link = event.target.closest("[data-text]")
	if (!link) return
	search.value = link.dataset.text
	search.dispatchEvent(new Event("input"))
	map.scrollIntoView()
})
const size = () => { for (const [name, is] of [["many", rows.length > few], ["named", rows.length <= few]]) map.classList.toggle(name, is) }
size()
regroup()
follow()
