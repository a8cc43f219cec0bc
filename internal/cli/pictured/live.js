
// A server sent this page: it is asked again, and says 304 where nothing has changed. What the reader has typed, opened,
// reached or scrolled to stays.
const live = document.getElementById("live"), interval = 5000
let etag = live.dataset.etag
live.textContent = "Live." // it has its line from the start: nothing moves when it says more

// replaced has a section of the new page in the place of the old one, and the focus where it was.
const replaced = (old, made) => {
	if (old.isEqualNode(made)) return
	const at = old.contains(document.activeElement) ? document.activeElement.cloneNode(true) : null
	old.replaceWith(made)
	const again = at && [...made.querySelectorAll(at.tagName)].find(one => one.isEqualNode(at))
	if (again) again.focus({ preventScroll: true })
}

const sections = next => {
	document.title = next.title
	for (const what of [".kicker", "h1"]) document.querySelector(what).textContent = next.querySelector(what).textContent
	for (const button of document.querySelectorAll(".state")) button.querySelector("b").textContent = next.querySelector(`.state[data-state="${button.dataset.state}"] b`).textContent
	const main = document.querySelector("main"), theirs = [...next.querySelectorAll("main > section")]
	const key = section => section.id || section.getAttribute("aria-labelledby")
	const found = new Map([...main.children].map(section => [key(section), section]))
	let before = null
	for (const made of theirs) {
		let old = found.get(key(made))
		found.delete(key(made))
		if (made.id !== "clusters") {
			const imported = document.importNode(made, true)
			if (old) replaced(old, imported)
			else if (before) before.after(imported)
			else main.prepend(imported)
			old = imported.isConnected ? imported : old
		}
		before = old
	}
	for (const gone of found.values()) gone.remove()
}

// tiles keeps the tiles of clusters that are still there. They stay in their places, unless some come, go, or change groups.
function* tiles(next) {
	const old = new Map(rows.map(row => [nameOf(row), row])), made = JSON.parse(next.getElementById("tiles").textContent)
	const by = document.querySelector("input[name=group]:checked").value, drawn = document.documentElement.dataset.drawn === by
	let moved = made.length !== rows.length || !drawn
	const was = rows.length
	yield
	const focused = document.activeElement.row, y = scrollY
	rows = made.map((row, index) => {
		const kept = old.get(nameOf(row))
		if (!kept || !kept.tile) {
			moved = true
			return row
		}
		if (kept[by] !== row[by]) moved = true
		const same = ["p", "i", "t", "s"].every(field => kept[field] === row[field]) && String(kept.k) === String(row.k)
		for (const field of ["p", "i", "t", "s", "k"]) kept[field] = row[field]
		kept.index = index
		kept.stale = !same || was <= few !== made.length <= few
		return kept
	})
	chunks = next.querySelectorAll("script.details")
	read = []
	size()
	for (const [index, row] of rows.entries()) {
		if (row.stale) dress(row)
		if (index % 100 === 0) yield
	}
	if (!moved) {
		yield* filter(groups)
		tell()
		return
	}
	map.style.minHeight = map.offsetHeight + "px"
	yield* draw(by)
	map.style.minHeight = ""
	if (focused && focused.tile.isConnected && !focused.tile.hidden) {
		focusable(focused.tile)
		focused.tile.focus({ preventScroll: true })
	}
	scrollTo(scrollX, y)
}

// still has the tiles where they were on the screen, when a table above them grows. Who reads above them stays there.
document.documentElement.style.overflowAnchor = "none"
const still = change => {
	const was = map.getBoundingClientRect().top, follows = scrollY > 0 && was < innerHeight
	change()
	if (follows) scrollBy(0, map.getBoundingClientRect().top - was)
}

const show = text => {
	const next = new DOMParser().parseFromString(text, "text/html")
	still(() => sections(next))
	sliced("map", (function* () {
		yield* tiles(next)
		const row = dialog.open && rows.find(row => nameOf(row) === document.getElementById("detail-title").textContent)
		if (row) fill(row)
	})())
	return next.getElementById("live").dataset.etag
}

const refused = { 401: "the token is not valid any more, or the API server does not answer", 403: "you have no right to see it any more" }
const ask = async () => {
	let told = ""
	try {
		const headers = { "If-None-Match": etag }
		if (window.fairleadToken) headers.Authorization = "Bearer " + window.fairleadToken
		const answer = await fetch("/status", { headers, cache: "no-store" })
		if (answer.status === 200) etag = show(await answer.text())
		else if (answer.status !== 304) told = refused[answer.status] || "the operator answers " + answer.status
	} catch (error) {
		told = "the operator does not answer"
	}
	live.textContent = told ? "Not live: " + told + "." : "Live: asked at " + new Date().toLocaleTimeString() + "."
	live.classList.toggle("bad", Boolean(told))
	setTimeout(wake, interval)
}
// A page that nobody sees asks nothing.
const wake = () => document.hidden ? document.addEventListener("visibilitychange", wake, { once: true }) : ask()
setTimeout(wake, interval)
