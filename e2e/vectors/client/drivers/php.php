<?php
// Asks for one URL with the library that is named on the command line. Without a
// URL it prints the version.
[, $library, $url] = array_pad($argv, 3, null);

if ($library === 'guzzle') {
    require 'GuzzleHttp/autoload.php';
}
if ($url === null) {
    $libcurl = curl_version()['version'];
    echo $library === 'curl' ? PHP_VERSION . " libcurl $libcurl"
        : guzzle_version() . ' (php ' . PHP_VERSION . ')', "\n";
    exit;
}
exit($library === 'curl' ? with_curl($url) : with_guzzle($url));

// Guzzle itself only knows its major version.
function guzzle_version(): string
{
    preg_match('/^Version: ([0-9.]+)/m', shell_exec('dpkg-query --status php-guzzlehttp-guzzle'), $found);
    return $found[1];
}

function with_curl(string $url): int
{
    $handle = curl_init($url);
    curl_setopt_array($handle, [
        CURLOPT_RETURNTRANSFER => true, CURLOPT_SSL_VERIFYPEER => false, CURLOPT_SSL_VERIFYHOST => 0, CURLOPT_TIMEOUT => 8,
    ]);
    if (curl_exec($handle) === false) {
        fwrite(STDERR, curl_error($handle));
        return 1;
    }
    return 0;
}

function with_guzzle(string $url): int
{
    (new GuzzleHttp\Client(['verify' => false, 'timeout' => 8]))->get($url);
    return 0;
}
