"use strict"
{
	const told = document.getElementById("told"), refused = { 401: "This token is not valid, or the API server does not answer.", 403: "Its owner has no right to see the fleet." }
	document.getElementById("form").addEventListener("submit", async event => {
		event.preventDefault()
		const token = document.getElementById("token").value.trim()
		try {
			const answer = await fetch("/status", { headers: { Authorization: "Bearer " + token }, cache: "no-store" })
			if (!answer.ok) {
				told.textContent = refused[answer.status] || "The operator answers " + answer.status + "."
				return
			}
			const text = await answer.text()
			window.fairleadToken = token
			document.open()
			document.write(text)
			document.close()
		} catch (error) {
			told.textContent = "The operator does not answer."
		}
	})
}
