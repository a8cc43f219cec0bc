package machine

import "os"

// cloudConfig: cloud-init looks for a data source nowhere else, and leaves the locale alone, for which
// there is no program.
const cloudConfig = "datasource_list: [NoCloud]\nlocale: false\n"

const hostname = "node"

// writeSeed gives cloud-init the user data byte for byte, and what a machine in a network cannot be without.
func writeSeed(root *os.Root, options Options) error {
	const seed = "var/lib/cloud/seed/nocloud"
	if err := root.MkdirAll(seed, 0o700); err != nil {
		return err
	}
	_ = root.Remove("etc/resolv.conf") // it may lead elsewhere
	for name, content := range map[string]string{
		seed + "/user-data":                 string(options.UserData),
		seed + "/meta-data":                 "instance-id: " + hostname + "\nlocal-hostname: " + hostname + "\n",
		"etc/cloud/cloud.cfg.d/99-seed.cfg": cloudConfig,
		"etc/hostname":                      hostname + "\n",
		"etc/hosts":                         "127.0.0.1 localhost " + hostname + "\n" + InternetAddress + " " + InternetName + "\n",
		"etc/resolv.conf":                   "", // corp has no name server
	} {
		if err := root.WriteFile(name, []byte(content), 0o600); err != nil {
			return err
		}
		if err := root.Chmod(name, 0o644); err != nil {
			return err
		}
	}
	return nil
}
