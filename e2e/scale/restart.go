package main

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// restart ends the operator as a kubelet does, and starts it with everything unchanged.
func (l *lab) restart(ctx context.Context) error {
	l.begins("restart of the operator")
	if err := l.operator.stop(); err != nil {
		return err
	}
	mark, err := l.ours.cp.AuditMark()
	if err != nil {
		return err
	}
	changed := l.ours.watch.changed()
	if err := l.operator.start(ctx); err != nil {
		return err
	}
	ready, err := process.Age(l.operator.pid()) // before that it was built, if need be
	if err != nil {
		return err
	}
	begin := time.Now().Add(-ready)
	if err := l.awaitLeader(ctx); err != nil {
		return err
	}
	quiet, err := l.operator.quiet(ctx)
	if err != nil {
		return err
	}
	asked, err := requestsOf(operator.User, l.ours.cp, mark)
	if err != nil {
		return err
	}
	used, err := l.operator.memory()
	if err != nil {
		return err
	}
	l.add("restart, nothing changed: ready after; quiet after", seconds(ready)+"; "+seconds(quiet.Sub(begin)))
	l.add("restart: Secrets and reports changed", count(l.ours.watch.changed()-changed))
	l.add("restart: writes, the paced re-apply among them", count(asked.writes()))
	l.add("restart: requests", asked.String())
	l.add("memory after the restart", mebibytes(used.Now))
	return nil
}

// restartAPIServer kills the API server when a third of a fan-out is done.
func (l *lab) restartAPIServer(ctx context.Context) error {
	l.begins("the API server is killed in a fan-out")
	password := l.nextToken()
	expected := l.ours.watch.expect(l.fleet, password, true)
	if err := l.setPassword(ctx, password); err != nil {
		return err
	}
	if _, err := expected.awaitUntil(ctx, expected.total/3); err != nil {
		return err
	}
	seen, killed := expected.seen(), time.Now()
	l.ours.cp.KillAPIServer()
	mark, err := l.ours.cp.AuditMark() // what it left unanswered is before
	if err != nil {
		return err
	}
	if err := l.ours.cp.StartAPIServer(ctx); err != nil {
		return err
	}
	back := time.Now()
	if err := l.ours.watch.connect(ctx); err != nil {
		return err
	}
	end, err := expected.await(ctx)
	if err != nil {
		return err
	}
	if _, err := l.operator.quiet(ctx); err != nil {
		return err
	}
	asked, err := requestsOf(operator.User, l.ours.cp, mark)
	if err != nil {
		return err
	}
	l.add("API server killed in a fan-out, at", count(seen)+" of "+count(expected.total))
	l.add("API server: ready again after", seconds(back.Sub(killed)))
	l.add("then everything right after", seconds(end.Sub(back)))
	l.add("requests since it was started", asked.String())
	return nil
}

func (l *lab) atTheEnd(context.Context) error {
	used, err := l.operator.memory()
	if err != nil {
		return err
	}
	l.add("memory, peak of all", mebibytes(used.Peak))
	l.add("operator restarted by itself", count(l.operator.restarts))
	if l.delivery == nil {
		return nil
	}
	if used, err = l.delivery.memory(); err != nil {
		return err
	}
	l.add("deliver: memory; peak; of it pages of its program", mebibytes(used.Now)+"; "+mebibytes(used.Peak)+"; "+mebibytes(used.File))
	l.add("deliver restarted by itself", count(l.delivery.restarts))
	return nil
}
