# Asks for one URL after the other with the library that is named on the command
# line; see driver.go for the protocol.
use strict;
use warnings;
use JSON::PP;

my $TIMEOUT = 8;

sub lwp {
    require LWP::UserAgent;
    return LWP->VERSION, sub {
        my $agent = LWP::UserAgent->new(
            env_proxy => 1, timeout => $TIMEOUT,
            ssl_opts => { verify_hostname => 0, SSL_verify_mode => 0 },
        );
        my $response = $agent->get(shift);
        die $response->status_line . "\n" unless $response->is_success;
    };
}

sub http_tiny {
    require HTTP::Tiny;
    return HTTP::Tiny->VERSION, sub {
        my $response = HTTP::Tiny->new(timeout => $TIMEOUT, verify_SSL => 0)->get(shift);
        die "$response->{status} $response->{content}\n" unless $response->{success};
    };
}

my %clients = ("lwp" => \&lwp, "http-tiny" => \&http_tiny);
my ($version, $ask) = $clients{ $ARGV[0] }->();
my %base = %ENV;
my $json = JSON::PP->new->canonical;    # of bytes: that is what an environment is made of
$| = 1;
print $json->encode({ version => $version }), "\n";
while (my $line = <STDIN>) {
    my $question = $json->decode($line);
    %ENV = (%base, %{ $question->{env} });
    utf8::downgrade($question->{url});    # lc must see bytes, as it does of an argument
    print $json->encode(eval { $ask->($question->{url}); 1 } ? {} : { problem => "$@" }), "\n";
}
