# make demo      shows Fairlead at work on a real control plane
# make test      is what a change must pass; CI runs nothing else
# make test-all  runs everything
SHELL := /bin/bash
.DEFAULT_GOAL := help

# What is built is kept outside of the checkout: a fresh clone builds nothing again.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fairlead
version := $(shell cat tools.mod tools.sum | sha256sum | cut -c-12)
LINT := $(CACHE)/bin/golangci-lint-$(version)
SUM := $(CACHE)/bin/gotestsum-$(version)

# Everything is compiled in one way, and the modules below e2e/tools share their versions: what two programs have in common
# is compiled once then. These are gobuild.Quick in images/gobuild. What is ours, and is measured, has gobuild.Flags, as what
# is released has; so do tools that run often.
export CGO_ENABLED := 0
yours := $(shell go env GOFLAGS)
export GOFLAGS := $(yours) -trimpath '-gcflags=all=-dwarf=false -l' -gcflags=std=-dwarf=false
bench soak scale fuzz $(LINT) $(SUM): export GOFLAGS := $(yours) -trimpath -gcflags=all=-dwarf=false

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: ## start a control plane, install Fairlead, show it at work (KEEP=1: leave it running)
	@echo "==> compile the demo"
	@mkdir -p .cache/bin; cd e2e; \
	{ [ -d $(CACHE)/bin/kyverno ] || go -C tools/kyverno list -deps github.com/kyverno/kyverno/cmd/kyverno; } >/dev/null 2>&1 & \
	GOGC=off GOMEMLIMIT=1GiB go build -o ../.cache/bin/demo ./demo && GOGC=400 ../.cache/bin/demo # what Kyverno needs is downloaded meanwhile

demo-stop: ## end a demo that was kept running
	@cd e2e && go run ./demo --stop

test: deps verify lint unit programs-short $(SUM) ## what a change must pass, in ten minutes: lint, unit tests, and the main job end to end
	@$(call e2e,-short -timeout=20m,$(short))

test-all: deps verify lint unit e2e ## everything

check: verify lint unit ## what needs no control plane: formatting, lint, unit tests, generated files

deps: ## install the Debian packages that tests need
	@missing=$$(for need in systemd-analyze:systemd ip:iproute2 curl:curl wget:wget git:git /usr/bin/python3:python3 \
			javac:default-jdk-headless chromium:chromium chromium:fonts-dejavu-core mmdebstrap:mmdebstrap systemd-nspawn:systemd-container \
			/usr/sbin/squid:squid docker-registry:docker-registry openssl:openssl /usr/sbin/update-ca-certificates:ca-certificates \
			/usr/lib/dracut/modules.d/30ignition/ignition:ignition \
			$(python)/jinja2:python3-jinja2 $(python)/yaml:python3-yaml $(python)/libdnf:python3-libdnf \
			$(python)/requests:python3-requests node:nodejs runc:runc nft:nftables promtool:prometheus shellcheck:shellcheck; do \
		command -v $${need%:*} >/dev/null || [ -d $${need%:*} ] || echo $${need#*:}; done); $(install)

python := /usr/lib/python3/dist-packages

vectors-deps: ## install the Debian packages that vectors needs, and what deps does
vectors-deps: deps
	@missing=$$(for package in wget2 aria2 ruby perl libwww-perl liblwp-protocol-https-perl libio-socket-ssl-perl \
			python3-requests python3-httpx python3-aiohttp python3-kubernetes php-cli php-curl php-guzzlehttp-guzzle; do \
		dpkg-query --show --showformat='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || echo $$package; done; \
		command -v npm >/dev/null || echo npm); $(install)

# Debian starts a server that is installed, unless a policy says no (invoke-rc.d(8)). The tests start their own.
policy := /usr/sbin/policy-rc.d
install = [ -z "$$missing" ] || (apt-get update -q && \
	{ [ -e $(policy) ] || { trap 'rm -f $(policy)' EXIT; install -m 755 /dev/null $(policy); printf '\#!/bin/sh\nexit 101\n' >$(policy); }; } && \
	apt-get install -qy -o DPkg::Lock::Timeout=600 --no-install-recommends $$missing) # a new machine may be upgrading itself

generate: ## CRDs and deep copies from api/, what the charts say of their values, and docs/reference/metrics.md
	go tool -modfile=tools.mod controller-gen object crd paths=./api/... output:crd:dir=config/crd
	go run ./charts/gen
	go run ./internal/reference

generated = api/v1alpha1/zz_* config/crd/* charts/*/values.schema.json charts/*/keys.json charts/*/SHA256SUMS charts/*/templates/_workload.tpl charts/*/templates/replicator-cage.yaml policies/*/*.yaml docs/reference/metrics.md

verify: ## what is generated is up to date
	@before=$$(cat $(generated) | sha256sum); $(MAKE) --no-print-directory generate; \
	after=$$(cat $(generated) | sha256sum); \
	[ "$$before" = "$$after" ] || { echo "make generate changed files: commit them"; exit 1; }

$(LINT):
	@mkdir -p $(@D)
	go build -modfile=tools.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(SUM):
	@mkdir -p $(@D)
	go build -modfile=tools.mod -o $@ gotest.tools/gotestsum

lint: $(LINT) ## golangci-lint on all modules
	$(LINT) run ./...
	cd e2e && $(LINT) run ./...
	cd images && $(LINT) run ./...

unit: ## unit, property and command-line tests
	go test -vet=off -ldflags=-w ./... # lint vets; nobody debugs what is linked here

programs: # build what the end-to-end tests run, ahead of go test's time limit
	cd e2e && go run ./tools/build

programs-short: # those of make test alone
	cd e2e && go run ./tools/build -short

e2e: programs $(SUM) ## end-to-end tests, all of them, on real control planes and machines (PACKAGES='./tunnels ./pods' RUN=Test…)
	@$(call e2e,-timeout=50m $(if $(RUN),-run='$(RUN)'),$(or $(PACKAGES),$(short) $(full)))

affected: ## the tests that a change touches, by imports and a table (BASE=origin/main; LIST=1: list them)
	cd e2e && go run ./affected $(if $(BASE),-base=$(BASE)) $(if $(LIST),-list)

# Many servers live for a minute: there is memory for garbage, and no processor time for collecting it.
# The packages wait for half of their time: four run at once, on two processors.
# A test that fails runs once more, alone. If it passes then, it is flaky: the last lines name it, and the summary above
# them says why. $(1): flags, $(2): packages.
flaky := $(CURDIR)/.cache/flaky
e2e = mkdir -p $(dir $(flaky)) && cd e2e && rm -f $(flaky) && GOGC=400 $(SUM) --format=standard-quiet --hide-summary=skipped --packages='$(2)' \
	--rerun-fails=1 --rerun-fails-run-root-test --rerun-fails-max-failures=5 --rerun-fails-report=$(flaky) -- \
	-vet=off -ldflags='-w -s' -count=1 -p=4 $(1) && { [ ! -e $(flaky) ] || sed 's/^/flaky: /' $(flaky); }

# The packages of make test. In those, tier.Full leaves single tests to make test-all.
# The longest begin, so that none of them is alone at the end.
short := ./operator ./probe ./policies ./deliver ./charts ./replicator ./docs ./demo ./clusterapi ./corp ./tunnels ./follow ./nodes ./mutate ./fabric \
	./pods ./doctor ./requests ./rollout ./ignition ./app ./workloads ./monitoring ./provider ./process ./ports ./rights ./affected ./tier ./tools \
	./vectors/measure ./vectors/table

# The packages of make test-all alone.
full := ./lifecycle ./observe ./flux ./page ./judges ./image ./release ./egress ./bootstrap ./move ./machine ./controlplane ./node ./scale ./relaybench

vectors: vectors-deps ## measure the real clients of this machine anew and merge it into the table of dialects (SEED=: of generated questions)
	cd e2e && go run ./vectors $(if $(SEED),-seed=$(SEED)) $(if $(CLIENTS),-clients='$(CLIENTS)')
	go test -count=1 ./noproxy/dialect/...

fuzz: ## ten million pairs of list and URL against httpproxy, then every fuzz target for FUZZTIME (default 1m)
	PAIRS=10000000 go test ./noproxy/dialect -count=1 -timeout=30m -v -run=TestGoListsAgreeWithHTTPProxy
	@for target in $$(grep -rhoE '^func Fuzz\w+' --include=*_test.go noproxy internal | cut -d' ' -f2 | sort -u); do \
		for package in $$(grep -rlE "^func $$target\b" --include=*_test.go noproxy internal | xargs -n1 dirname); do \
			go test ./$$package -run='^$$' -fuzz="^$$target$$" -fuzztime=$${FUZZTIME:-1m} || exit 1; done; done

bench: ## benchmarks: the pure core, what a pod costs under each policy, the relay beside squid (docs/reference/scale.md)
	go test ./noproxy/... ./internal/... -run='^$$' -bench=. -benchmem
	cd e2e && go test ./policies -run='^$$' -bench=Pods -benchtime=1000x
	cd e2e && go run ./relaybench

soak: ## the relay for FOR (1h) among 50 clients and hostile ones, while accounts change and squid dies (docs/reference/scale.md)
	cd e2e && go run ./relaybench soak $(or $(FOR),1h)

scale: ## the operator at fleet size (N=2000 MACHINES=0 DELIVER=false, docs/reference/scale.md)
	cd e2e && go run ./scale -clusters=$(or $(N),2000) -machines=$(or $(MACHINES),0) -deliver=$(or $(DELIVER),false)

image: ## container images as OCI archives, with bills of materials, in .cache/images (docs/how-to/install.md)
	cd images && go run ./build ../.cache/images

# HELM=helm takes yours; else it is the one that the tests run.
HELM = $(shell cd e2e && go run ./tools/build helm)

manifests: ## plain manifests for kubectl apply, one file each, in dist (docs/how-to/install.md)
	cd images && go run ./release/make -helm="$(HELM)" manifests ../dist

release: $(if $(filter no,$(VULNCHECK)),,vulncheck) image ## everything of a release: images in .cache/images, the rest in dist (VULNCHECK=no leaves out vulncheck, docs/how-to/release.md)
	rm -rf dist
	cd images && go run ./release/make -helm="$(HELM)" release ../dist

# In an empty folder govulncheck finds nothing, and is content: say the database's date, or fail.
vulncheck: ## known vulnerabilities that the programs can reach (GOVULNDB=file:///… without the internet, such as of vulndb)
	$(if $(filter file:%,$(GOVULNDB)),@grep -o '"modified":"[^"]*"' $(GOVULNDB:file://%=%)/index/db.json)
	go tool -modfile=tools.mod govulncheck $(if $(GOVULNDB),-db=$(GOVULNDB)) ./operator/...

vulndb: ## a copy of the database of vulnerabilities in .cache/vulndb, made of a Go module: a module proxy is enough
	cd $$(go mod download -json golang.org/x/vulndb@latest | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && go run ./cmd/indexdb -vulns data/osv -out $(CURDIR)/.cache/vulndb && \
	sed -i "s/0001-01-01T00:00:00Z/$$(pwd | sed 's/.*-\(....\)\(..\)\(..\)\(..\)\(..\)\(..\)-.*/\1-\2-\3T\4:\5:\6Z/')/" $(CURDIR)/.cache/vulndb/index/db.json # the module has no dates of its own

clean: ## remove what was built
	rm -rf .cache dist

.PHONY: help demo demo-stop test test-all check deps vectors vectors-deps generate verify lint unit programs programs-short e2e affected fuzz bench soak scale image manifests release vulncheck vulndb clean
