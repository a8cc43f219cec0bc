#!/bin/sh
az connectedk8s connect --name mycluster --resource-group clusters \
  --proxy-http http://proxy.corpdomain.example:3128 \
  --proxy-https=http://proxy.corpdomain.example:3128 \
  --proxy-skip-range "100.64.0.0/13,kubernetes.default.svc,.svc.cluster.local,.svc" \
  --proxy-cert /etc/ssl/corp.pem
